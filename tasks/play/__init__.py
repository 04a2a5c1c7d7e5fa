"""The command minisets play: a page on which trained networks work live, computed by this project's own engine.

server.py answers HTTP on loopback, jobs.py computes, and each page of the browser has a file of its own here:
clustering.py, maximum.py, characters.py, clouds.py, tape.py.  weights/ holds small trained networks, made by
python -m tasks.play.train; page/ is what the browser loads.
"""

// Talking to the server.  Of the requests of one lane, at most one is on its way, and only the newest waits.

const session = crypto.randomUUID().slice(0, 8);

export class ServerError extends Error {}

export async function ask(name, message = {}, lane = "") {
  let answer;
  try {
    answer = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...message, client: `${session}${lane}` }),
    });
  } catch {
    throw new ServerError("The server does not answer. Is minisets play still running?");
  }
  const content = await answer.json();
  if (answer.status === 409) return null; // a newer request came first
  if (!answer.ok) throw new ServerError(content.error);
  return content;
}

export class Live {
  constructor(name, lane, show) {
    Object.assign(this, { name, lane, show, busy: false, next: null });
  }

  send(message) {
    this.next = { message, asked: performance.now() };
    if (!this.busy) this.run();
  }

  async run() {
    this.busy = true;
    while (this.next) {
      const { message, asked } = this.next;
      this.next = null;
      try {
        const answer = await ask(this.name, message, this.lane);
        if (answer) {
          this.show(answer, message);
          report(null);
          await new Promise(requestAnimationFrame);
          latency.add(performance.now() - asked, message);
        }
      } catch (error) {
        if (!(error instanceof ServerError)) throw error;
        report(error.message);
      }
    }
    this.busy = false;
  }
}

export function report(text) {
  const place = document.getElementById("error");
  place.hidden = !text;
  place.textContent = text ?? "";
}

// From an input to the picture: the time until the browser draws the answer, for sets of the size shown last.
class Latency {
  times = [];
  size = 0;

  add(ms, message) {
    const size = (message.points ?? message.numbers ?? message.drawings ?? []).length, place = document.getElementById("latency");
    if (size !== this.size) this.times = [];
    this.size = size;
    this.times.push(ms);
    if (this.times.length > 500) this.times.shift();
    const sorted = [...this.times].sort((a, b) => a - b);
    const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
    Object.assign(place.dataset, { median: at(0.5), p95: at(0.95), count: sorted.length });
    place.textContent = `${size.toLocaleString("en")} elements, from input to picture: median ${at(0.5).toFixed(0)} ms, 95% within ${at(0.95).toFixed(0)} ms`;
  }
}

export const latency = new Latency();

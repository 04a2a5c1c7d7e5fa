"""Picture of chapter 7: equivariance as a square."""

from docs.pictures.drawing import Drawing, picture

HUES = ("blue", "orange", "purple")


@picture
def symmetry_square() -> Drawing:
    d = Drawing(460, 330, "Permuting and then applying f gives the same as applying f and then permuting")
    order = (2, 0, 1)

    def rows(x: float, y: float, which: tuple, columns: int, name: str) -> None:
        size = 22
        for i, j in enumerate(which):
            left, top = x - columns * size / 2, y - 1.5 * size + i * size
            d.cells(left, top, 1, columns, size=size, values=[[0.55] * columns], color=HUES[j])
        d.text(x, y + (-1.5 * size - 16 if y < 160 else 1.5 * size + 16), name)

    rows(90, 80, (0, 1, 2), 2, "X")
    rows(370, 80, order, 2, "Π X")
    rows(90, 250, (0, 1, 2), 4, "f(X)")
    rows(370, 250, order, 4, "f(Π X) = Π f(X)")
    d.arrow((130, 80), (330, 80), label="reorder, Π")
    d.arrow((150, 250), (310, 250), label="reorder, Π")
    d.arrow((90, 122), (90, 208))
    d.arrow((370, 122), (370, 208))
    d.text(78, 165, "f", anchor="end")
    d.text(382, 165, "f", anchor="start")
    return d

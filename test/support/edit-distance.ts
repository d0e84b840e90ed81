/** The optimal string alignment distance by its definition. Reference for the faster one of the product. */
export function referenceDistance(one: string, other: string): number {
  const table = Array.from({ length: one.length + 1 }, (_, row) =>
    Array.from({ length: other.length + 1 }, (__, column) => (row === 0 ? column : column === 0 ? row : 0)),
  )
  for (let row = 1; row <= one.length; row += 1) {
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1]
      const ways = [table[row - 1]![column]! + 1, table[row]![column - 1]! + 1]
      ways.push(table[row - 1]![column - 1]! + (same ? 0 : 1))
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      if (row > 1 && column > 1 && swapped) ways.push(table[row - 2]![column - 2]! + 1)
      table[row]![column] = Math.min(...ways)
    }
  }
  return table[one.length]![other.length]!
}

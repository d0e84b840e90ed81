/** The lines of a Markdown table without the spaces that only align them. */
export function unpadded(table: string): string[] {
  return table.split('\n').map((line) => line.replaceAll(/ +/g, ' '))
}

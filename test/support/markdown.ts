/** The lines of a Markdown table without alignment spaces. */
export function tableLines(table: string): string[] {
  return table.split('\n').map((line) => line.replaceAll(/ +/g, ' '))
}

/** Prints a line, or a text of several lines. */
export const print = (text: string) => void process.stdout.write(`${text}\n`)

/** The lines of a list, or of a CSV file, as batches. */
import { lookup } from '../agent/operation/lookup.ts'
import { parseOperation, type Operation } from '../agent/operation/operation.ts'
import { batch } from '../agent/operation/operations.ts'
import { resolve } from '../agent/operation/resolve.ts'

/** Numbers are looked up. If there is a name, every line is resolved. Equal lines are bought once. */
export function planList(text: string, linesMax: number): { batches: Operation[]; faults: string[] } {
  const lines = [...new Set(text.split(/\r?\n/).map((line) => line.trim()))].filter((line) => line !== '')
  const isNumber = (line: string) => /^\d+$/.test(line)
  const definition = lines.every(isNumber) ? lookup : resolve
  const inputs: object[] = []
  const faults: string[] = []
  for (const line of lines.slice(0, linesMax)) {
    const parsed = parseOperation(definition, isNumber(line) ? { company_number: line } : { name: line })
    if (parsed.kind === 'valid') inputs.push(parsed.operation.input)
    else faults.push(`"${line.slice(0, 40)}" is no valid query`)
  }
  if (lines.length > linesMax) faults.push(`${lines.length - linesMax} lines above ${linesMax} are left out`)
  const size = definition.batchInputsMax ?? 1
  const batches: Operation[] = []
  for (let start = 0; start < inputs.length; start += size) {
    const part = inputs.slice(start, start + size)
    const parsed = parseOperation(batch, { operation: definition.name, inputs: part })
    if (parsed.kind === 'valid') batches.push(parsed.operation)
  }
  return { batches, faults }
}

/** The rows of a CSV file with any usual separator, in UTF-8 or Windows-1252. */
export function parseCsv(bytes: ArrayBuffer): string[][] {
  const unicode = new TextDecoder().decode(bytes)
  const text = unicode.includes('\uFFFD') ? new TextDecoder('windows-1252').decode(bytes) : unicode
  const [head = ''] = text.split(/\r?\n/, 1)
  const [separator = ','] = [',', ';', '\t', '|'].toSorted(
    (one, other) => head.split(other).length - head.split(one).length,
  )
  const cells = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\r\\n]*))([${separator}]|\\r\\n|\\n|\\r|$)`, 'g')
  const rows: string[][] = [[]]
  for (const [whole, quoted, plain = '', end] of text.matchAll(cells)) {
    if (whole === '') break
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end !== separator) rows.push([])
  }
  return rows.filter((row) => row.some((cell) => cell.trim() !== ''))
}

/** Reads the file of a list for a command, before anything is paid. */
import { option, type Call } from '../definition.ts'
import { parseSeparator, parseWholeNumber } from '../../command-line/arguments.ts'
import type { Table } from '../../command-line/table/read-table.ts'
import { ENCODINGS } from '../../command-line/table/decode-text.ts'
import { readTable } from '../../command-line/table/table-file.ts'
import { TableError } from '../../command-line/table/table-error.ts'

export const tableOptions = () => [
  option('--header-row <n>', 'the row of the header, from 1', parseWholeNumber),
  option(
    '--separator <text>',
    'the separator of the fields, "tab" for a tabulator; by default it is found',
    parseSeparator,
  ),
  option('--encoding <name>', `that of a CSV, such as ${ENCODINGS.join(', ')}; by default it is found`),
]

/** Asks a person, or ends the command as with wrong arguments, if the encoding is in doubt. */
export async function readListFile({ context, args, options, refuse }: Call): Promise<Table> {
  const { file = '' } = args
  const separator = options['separator'] as string | undefined
  const encoding = options['encoding'] as string | undefined
  return readTable(file, { separator, encoding }).catch(async (cause: unknown) => {
    if (!(cause instanceof TableError) || cause.doubt === undefined) throw cause
    if (await context.confirm(`${cause.message}. Read it so?`))
      return readTable(file, { separator, encoding: 'windows-1252' })
    return refuse(`${cause.message}. Name the encoding with --encoding`)
  })
}

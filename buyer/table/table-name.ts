/** The forms in which a table is written. */

/** In place of the name of a file: stdin to read, stdout to write. */
export const STREAM = '-'

/** A text file and a name without an end are CSV. */
const FORMS = new Map<string, 'csv' | 'tsv' | 'xlsx' | 'json'>([
  ['', 'csv'],
  ['.csv', 'csv'],
  ['.txt', 'csv'],
  ['.tsv', 'tsv'],
  ['.xlsx', 'xlsx'],
  ['.json', 'json'],
])

export const TABLE_ENDS = [...FORMS.keys()].filter(Boolean).join(', ')

/** The form of a table by the end of its name. Undefined for another end, such as that of a document. */
export const formOf = (name: string) => FORMS.get(/\.[^./\\]*$/.exec(name)?.[0].toLowerCase() ?? '')

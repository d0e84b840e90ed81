/** The status texts of a dataset as quotes and documents show them. They are text of the source. */

const STATUS_CHARACTERS_SHOWN_MAX = 40
/** The description of a quote has at most 500 characters. */
const TEXT_CHARACTERS_MAX = 240
/** Characters with a meaning in Markdown, HTML or JSON, and those that an ASCII header would escape. */
const NOT_SHOWN = /[^A-Za-z0-9 .,'()/-]/g

export function showStatuses(statuses: readonly (string | null)[]): string {
  const shown = new Set(
    statuses.flatMap((status) =>
      status === null ? [] : [status.trim().replace(NOT_SHOWN, '?').slice(0, STATUS_CHARACTERS_SHOWN_MAX)],
    ),
  )
  let text = ''
  for (const status of [...shown].toSorted()) {
    const longer = text === '' ? status : `${text}, ${status}`
    if (longer.length > TEXT_CHARACTERS_MAX) break
    text = longer
  }
  return text
}

/** The description of a member for a status, with the values of the dataset. The member accepts other texts too. */
export function describeStatus(description: string | undefined, statuses: string): string {
  return statuses === '' ? (description ?? '') : `${description ?? ''} The dataset has: ${statuses}.`.trim()
}

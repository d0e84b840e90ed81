/** The status texts of a dataset as quotes and documents show them. They are text of the source. */

const STATUS_CHARACTERS_SHOWN_MAX = 40
/** The description of a quote has at most 500 characters. */
const TEXT_CHARACTERS_MAX = 240
/** Characters with a meaning in Markdown, HTML or JSON, and those that an ASCII header would escape. */
const NOT_SHOWN = /[^A-Za-z0-9 .,'()/-]/g

export function showStatuses(statuses: readonly (string | null)[]): string {
  const show = (status: string) => cutText(status.trim().replace(NOT_SHOWN, '?'), STATUS_CHARACTERS_SHOWN_MAX)
  const shown = new Set(statuses.flatMap((status) => (status === null ? [] : [show(status)])))
  const sorted = [...shown].toSorted()
  let text = ''
  for (const [at, status] of sorted.entries()) {
    const longer = text === '' ? status : `${text}, ${status}`
    const end = at + 1 < sorted.length ? MORE.length : 0
    if (longer.length + end > TEXT_CHARACTERS_MAX) return text + MORE
    text = longer
  }
  return text
}

/** At the end of a list that is not complete. */
const MORE = ', ...'

/** A text that was cut ends with three dots. */
export function cutText(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax - 3)}...` : text
}

/** The description of a member for a status, with the values of the dataset. The member accepts other texts too. */
export function describeStatus(description: string | undefined, statuses: string): string {
  return statuses === '' ? (description ?? '') : `${description ?? ''} The dataset has: ${statuses}.`.trim()
}

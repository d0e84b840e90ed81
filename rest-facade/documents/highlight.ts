/** Marks strings, comments, numbers and keywords of code in a guide. The result is HTML. */
import { escapeHtml } from '../../base/escape-html.ts'

/** The first group that fits names the kind. Text within a string or a comment is not read again. */
const TOKENS =
  /(?<comment>(?<=^|\s)(?:\/\/|#)[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<keyword>\b(?:await|const|import|from|new|return|true|false|null|curl|npm|node|python3)\b)|(?<number>\b\d+(?:\.\d+)?\b)/gm

export function highlight(code: string): string {
  let html = ''
  let end = 0
  for (const { 0: text, index, groups = {} } of code.matchAll(TOKENS)) {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined)
    html += `${escapeHtml(code.slice(end, index))}<span class="${kind}">${escapeHtml(text)}</span>`
    end = index + text.length
  }
  return html + escapeHtml(code.slice(end))
}

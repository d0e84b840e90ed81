/** The guides in Markdown as HTML, with a table of contents. HTML in a guide is shown as text. */
import MarkdownIt from 'markdown-it'
import { escapeHtml } from '../../store/base/escape-html.ts'
import { policyOf, readPageFile } from './page.ts'
import type { WrittenDocument } from './templates.ts'

const LAYOUT = `body{max-width:52rem}table{display:block;overflow-x:auto;min-width:0}td{min-width:6rem}nav{display:block;padding:1rem 0}`

export function renderGuide(markdown: string): WrittenDocument {
  const parser = new MarkdownIt({ html: false, linkify: true })
  const tokens = parser.parse(markdown, {})
  const contents: string[] = []
  let title = ''
  for (const [at, token] of tokens.entries()) {
    const text = tokens[at + 1]?.content ?? ''
    if (token.type === 'heading_open' && token.tag === 'h1') title = text
    if (token.type !== 'heading_open' || token.tag !== 'h2') continue
    const id = text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
    token.attrSet('id', id)
    contents.push(`<li><a href="#${id}">${parser.renderInline(text)}</a></li>`)
  }
  // What scrolls must be reachable with the keyboard.
  for (const token of tokens) if (['fence', 'table_open'].includes(token.type)) token.attrSet('tabindex', '0')
  const style = readPageFile('page.css') + LAYOUT
  return {
    type: 'text/html',
    text: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />
<title>${escapeHtml(title)}</title><link rel="icon" href="data:," /><style>${style}</style></head>
<body><header><a href="/">Irish company records</a></header><main>
<nav aria-label="Contents"><ol>${contents.join('\n')}</ol></nav>
${parser.renderer.render(tokens, parser.options, {})}</main></body></html>`,
    contentSecurityPolicy: policyOf([style]),
  }
}

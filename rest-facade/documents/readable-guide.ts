/** The guides in Markdown as HTML, with a table of contents. HTML in a guide is shown as text. */
import MarkdownIt from 'markdown-it'
import { highlight } from './highlight.ts'
import { renderFrame, type PageDeployment } from './page.ts'
import type { WrittenDocument } from './templates.ts'

export function renderGuide(deployment: PageDeployment, markdown: string): WrittenDocument {
  const parser = new MarkdownIt({ html: false, linkify: true, highlight })
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
  const main = `<div class="guide"><nav aria-label="Contents"><ol>${contents.join('\n')}</ol></nav>
<article>${parser.renderer.render(tokens, parser.options, {})}</article></div>`
  return renderFrame(deployment, { title, main, scripts: ['guide'] })
}

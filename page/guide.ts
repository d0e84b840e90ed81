/** A guide: a button to copy each block of code. */
import { copyButton, create } from './elements.ts'

for (const code of document.querySelectorAll('pre')) {
  const block = create('div', { class: 'code' })
  code.replaceWith(block)
  block.append(code, copyButton(code.textContent))
}

/** A guide: a button to copy each block of code. */
import { copyButton } from './elements.ts'

for (const code of document.querySelectorAll('pre')) code.after(copyButton(code.textContent))

/** Writes screenshots of the HTML guide in every view: `npm run screenshots -- FOLDER`, outside the repository. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBrowser, openBrowser } from '../support/browser.ts'
import { stopTestChain } from '../support/chain.ts'
import { askForQuote, VIEWS } from '../support/guide-page.ts'
import { startTestService } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

const [, , given = ''] = process.argv
const folder = resolve(given)
if (given === '' || !relative(ROOT, folder).startsWith('..'))
  throw new Error('The folder must be outside the repository')
const program = findBrowser()
if (program === undefined) throw new Error('chromium is not on the PATH')

await mkdir(folder, { recursive: true })
const service = await startTestService()
const browser = await openBrowser(program)
for (const [name, view] of Object.entries(VIEWS)) {
  const page = await browser.open(view)
  await page.goTo(`${service.url}/docs`)
  await askForQuote(page, 'lookup')
  await writeFile(join(folder, `${name.replaceAll(' ', '-')}.png`), await page.screenshot())
}
await browser.close()
await service.stop()
await stopTestChain()

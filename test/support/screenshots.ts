/** Pictures of the HTML guide in every view, with a quote shown: `npm run screenshots -- FOLDER`, outside the repository. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBrowser, openBrowser } from './browser.ts'
import { stopTestChain } from './chain.ts'
import { askForQuote, VIEWS } from './guide-page.ts'
import { startTestService } from './service.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

const [, , given = ''] = process.argv
const folder = resolve(given)
if (given === '' || !relative(ROOT, folder).startsWith('..')) throw new Error('Name a folder outside the repository')
const program = findBrowser()
if (program === undefined) throw new Error('There is no chromium on the PATH')

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

/** `npm run tool -- pictures`: the pictures of the page in docs, of a sandbox with its made-up companies. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBrowser, openBrowser } from '../support/browser.ts'
import { ready, startChild } from '../support/child.ts'
import { ask, click, seen, sold } from '../support/page.ts'
import { makeTemporaryDirectory, removeTemporaryDirectories } from '../support/temporary-directory.ts'
import { readArguments } from '../support/arguments.ts'

const FOLDER = fileURLToPath(new URL('docs/', import.meta.resolve('#root/package.json')))
const MARGIN = 20
const VIEW = { width: 900, height: 500 }

readArguments('')

const program = findBrowser()
if (program === undefined) throw new Error('chromium is not on the PATH')
const service = startChild('operator/main.js', ['serve'], { PORT: '0', DATA_DIR: await makeTemporaryDirectory() })
const url = await ready(service)
const browser = await openBrowser(program)
const page = await browser.open(VIEW)
await page.goto(url)
await ask(page, 'sample')
await sold(page, /results for/)
// Ends below a whole row.
const { y: end } = (await page.locator('#answer tbody tr').nth(2).boundingBox())!
const rows = { x: 0, y: 0, width: VIEW.width, height: end }
await page.screenshot({ path: join(FOLDER, 'page-results.png'), fullPage: true, clip: rows })
await click(page, '#answer td a')
await sold(page, /All results/)
await seen(page, '.payment', /receipt valid/)
// To the line about the payment, which is below the first screen.
const { x, y, width, height } = (await page.locator('#result').boundingBox())!
const clip = { x: x - MARGIN, y: y - MARGIN, width: width + 2 * MARGIN, height: height + 2 * MARGIN }
await page.screenshot({ path: join(FOLDER, 'page-record.png'), fullPage: true, clip })
await browser.close()
service.process.kill()
await service.ended
await removeTemporaryDirectories()

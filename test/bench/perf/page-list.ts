/** The longest frame of the page while a thousand rows of a list are decided by keyboard, in Chromium. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findBrowser, openBrowser, type BrowserPage } from '../../support/browser.ts'
import { ready, startChild } from '../../support/child.ts'
import { DESKTOP, pay, seen } from '../../support/page.ts'
import { numberedRows, toCsv } from '../../support/register.ts'
import type { MeasureRows } from './perf-row.ts'

/** The most that the page buys. */
const ROWS = 1_000
/** The size ci shows that it can be measured. */
const ROWS_SMALL = 30

/** Records the longest time between two frames, which has the work of the page and of the browser. */
const RECORD_FRAMES = `globalThis.longestFrame = 0
  const frame = (last) => (now) => {
    globalThis.longestFrame = Math.max(globalThis.longestFrame, now - last)
    requestAnimationFrame(frame(now))
  }
  requestAnimationFrame((now) => requestAnimationFrame(frame(now)))`

export const measurePageList: MeasureRows = async ({ size, directory }) => {
  const program = findBrowser()
  if (program === undefined) throw new Error('chromium is not on the PATH')
  const count = size.requestShare < 1 ? ROWS_SMALL : ROWS
  const register = join(directory, 'twins.csv')
  await writeFile(register, toCsv(...twins(count)))
  const environment = { PORT: '0', DATA_DIR: join(directory, 'page-list'), DATASET: register }
  const service = startChild('operator/main.js', ['serve'], environment)
  const url = await ready(service)
  const browser = await openBrowser(program)
  const page = await browser.open(DESKTOP)
  await page.goto(`${url}/?operation=list`)
  await page.fill('#lines', ['Supplier', ...Array.from({ length: count }, (_, at) => nameOf(at))].join('\n'))
  await seen(page, '#answer', /signature/)
  await pay(page)
  await seen(page, '.summary', new RegExp(`^${count} to decide`))
  const value = await decideAll(page, count)
  await browser.close()
  service.process.kill()
  await service.ended
  return [{ id: 'page frames', value }]
}

/** No two names are similar, and each has two companies. */
const nameOf = (at: number) => `Row ${at.toString(36)} Fixture Limited`

const twins = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    numberedRows(2, 2 * at + 1, { company_name: nameOf(at).toUpperCase(), comp_dissolved_date: '', eircode: '' }),
  ).flat()

async function decideAll(page: BrowserPage, count: number): Promise<number> {
  await page.evaluate(RECORD_FRAMES)
  await page.locator('.bought-list button.main').press('Enter')
  for (let row = 0; row < count; row += 1) await page.keyboard.press(row % 3 === 0 ? '0' : '1')
  await seen(page, '.decide h2', /^All rows are decided$/)
  return Number(await page.evaluate('globalThis.longestFrame'))
}

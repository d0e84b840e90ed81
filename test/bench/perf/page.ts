/** The time from the URL of a record in the page to its paid answer, in Chromium with the account of a sandbox. */
import { join } from 'node:path'
import { findBrowser, openBrowser } from '../../support/browser.ts'
import { ready, startChild } from '../../support/child.ts'
import { DESKTOP, pay, sold } from '../../support/page.ts'
import { median } from '../statistics.ts'
import type { MeasureRows } from './perf-row.ts'

export const measurePage: MeasureRows = async ({ size, directory }) => {
  const program = findBrowser()
  if (program === undefined) throw new Error('chromium is not on the PATH')
  const service = startChild('operator/main.js', ['serve'], { PORT: '0', DATA_DIR: join(directory, 'page') })
  const url = await ready(service)
  const browser = await openBrowser(program)
  const times: number[] = []
  // The first round is not counted: it compiles the page.
  for (let round = 0; round <= size.rounds; round += 1) {
    const page = await browser.open(DESKTOP)
    const start = performance.now()
    await page.goto(`${url}/?operation=lookup&company_number=00000000`)
    await pay(page)
    await sold(page)
    if (round > 0) times.push(performance.now() - start)
    await page.context().close()
  }
  await browser.close()
  service.process.kill()
  await service.ended
  return [{ id: 'page answer', value: median(times) }]
}

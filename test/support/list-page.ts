/** A list of suppliers in the page in Chromium: the register of its service, its actions, and what it shows. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { usePage } from './page.ts'
import { registerRow, toCsv } from './register.ts'
import { startTestService } from './service.ts'

const LIVE = { comp_dissolved_date: '' }
const twin = (company_num: string, company_name: string, eircode = '') =>
  registerRow({ ...LIVE, company_num, company_name, eircode, company_address_1: `${company_num} FIXTURE STREET` })
const REGISTERED = [
  registerRow(),
  registerRow({ ...LIVE, company_num: '10', company_name: 'STOPPED FIXTURE LIMITED', company_status: 'Liquidation' }),
  twin('11', 'FIRST TWIN LIMITED'),
  twin('12', 'FIRST TWIN LIMITED'),
  twin('21', 'SECOND TWIN LIMITED', 'D02 X285'),
  twin('22', 'SECOND TWIN LIMITED', 'D02 X285'),
]
export const SUPPLIERS = [
  'Supplier,CRO,Eircode,Owner',
  'Plain Fixture Ltd,,,Ann',
  'First Twin Ltd,,,Ben',
  'Second Twin Ltd,,D02 X285,Ann',
  'Stopped Fixture Ltd,10,,Ben',
  ',,,Ann',
  'Nothing Of The Kind,,,Ben',
  'First Twin Ltd,,,Cat',
].join('\r\n')

/** A list of this many names, which no company has. */
export const unknownNames = (count: number) =>
  `Supplier\n${Array.from({ length: count }, (_, at) => `Foo ${at} Ltd\n`).join('')}`

/** `usePage` with a register that has these rows too, and the actions of a list. */
export function useListPage(rows: readonly Parameters<typeof toCsv>[number][] = []) {
  const used = usePage(() =>
    startTestService({
      prepare: (directory) => writeFile(join(directory, 'register.csv'), toCsv(...REGISTERED, ...rows)),
      configure: (config) => ({ ...config, dataset: join(config.dataDirectory, 'register.csv') }),
    }),
  )
  const { page, open, pay, seen } = used
  const openList = async () => {
    await open('/?operation=list')
    // The button is hidden by the code of lists.
    await page.evaluate(`(async () => {
      while (!document.querySelector('link[href*=lists]') || document.querySelector('#go').checkVisibility())
        await new Promise((resolve) => setTimeout(resolve, 25))
    })()`)
  }
  const choose = (name: string, text: string | Buffer) =>
    page.setInputFiles('#file', { name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) })
  const summary = (pattern: RegExp) => seen('.summary', pattern)
  return {
    ...used,
    openList,
    choose,
    summary,
    /** The text of the button that buys, or false. */
    go: () =>
      page.evaluate(`document.querySelector('#go').checkVisibility() && document.querySelector('#go').innerText`),
    /** The header and the columns that will be read. */
    chosen: () =>
      page.evaluate(`[...document.querySelectorAll('#answer select')].map((each) => each.selectedOptions[0].text)`),
    buySuppliers: async (name = 'suppliers.csv') => {
      await openList()
      await choose(name, SUPPLIERS)
      await seen('#answer', /signature/)
      await pay()
      await summary(/matched/)
    },
  }
}

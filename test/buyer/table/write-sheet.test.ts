/** How a written sheet looks in a spreadsheet: its header, filter, widths, and the types of its cells. */
import { unzipSync } from 'fflate'
import { expect } from 'chai'
import { readXlsx } from 'hucre/xlsx'
import { encodeTable } from '../../../buyer/table/write-table.ts'

const COMPANY = [
  '335801',
  'A name of 41 characters, which is longer.',
  new Date('2020-01-31'),
  new Date('2020-01-31T14:30Z'),
]

async function sheetOf(rows: (string | Date | number)[][], headerRow?: number): Promise<string> {
  const parts = unzipSync(await encodeTable(rows, { name: 'x.xlsx', headerRow }))
  return Buffer.from(parts['xl/worksheets/sheet1.xml'] ?? []).toString()
}

describe('[15.16] a written sheet', () => {
  it('keeps its header in view with a filter over all rows, and is as wide as its texts', async () => {
    const sheet = await sheetOf([['Suppliers'], ['number', 'name'], ...Array.from({ length: 200 }, () => COMPANY)], 2)
    expect(sheet).to.contain('<pane ySplit="2" topLeftCell="A3" activePane="bottomLeft" state="frozen"/>')
    expect(sheet).to.match(/<\/sheetData><autoFilter ref="A2:D202"\/><\/worksheet>$/)
    expect([...sheet.matchAll(/ width="(\d+)"/g)].map(([, width]) => Number(width))).to.deep.equal([9, 43, 12, 18])
    expect(sheet.match(/<row /g)).to.have.length(202)
  })

  it('has no filter without a header, and can be empty', async () => {
    expect(await sheetOf([COMPANY])).not.to.match(/pane|autoFilter/)
    expect(await sheetOf([])).to.contain('<sheetData></sheetData></worksheet>')
  })

  it('has dates as dates, numbers as numbers and company numbers as texts, for another reader too', async () => {
    const bytes = await encodeTable([['a'], [...COMPANY, -12.5, '007', ' <&>_x0041_\u0007\r\n ', true, null]], {
      name: 'x.xlsx',
    })
    const { sheets } = await readXlsx(bytes)
    expect(sheets[0]?.rows[1]?.slice(0, 8)).to.deep.equal([...COMPANY, -12.5, '007', ' <&>_x0041_\u0007\r\n ', true])
  })
})

/** Which columns a list is read by, for lists as people paste and export them. */
import { expect } from 'chai'
import { readList } from '../../../buyer/lists/list.ts'
import { proposeHeader } from '../../../buyer/lists/header.ts'
import {
  correctColumns,
  describeColumns,
  findUnreadNumbers,
  nameColumns,
  proposeColumns,
} from '../../../buyer/lists/propose-columns.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'

const A = 'Alpha Sample Trading Ltd'
const B = 'Beta Sample Holdings'

const read = async (text: string) => {
  const table = await parseTable(Buffer.from(text), { name: 'x' })
  const { row: headerRow } = proposeHeader(table.rows)
  const columns = proposeColumns(table.rows, headerRow)
  return { table, headerRow, columns, header: headerRow === 0 ? undefined : table.rows[headerRow - 1] }
}

describe('[15.14] the columns of a list', () => {
  const cases: [text: string, columns: string][] = [
    [
      `Supplier No,Supplier Name,CRO Number\n7,${A},100001\n8,${B},100002`,
      'name = Supplier Name, company_number = CRO Number',
    ],
    [`Account Number,Company,CRO No.\n7,${A},100001`, 'name = Company, company_number = CRO No.'],
    [
      `Contact Name,Company,Phone No,Reg No\nAnn Sample,${A},01 5550100,100001\nBob Sample,${B},01 5550101,100002`,
      'name = Company, company_number = Reg No',
    ],
    [`First Name,Surname,Supplier\nAnn,Sample,${A}`, 'name = Supplier'],
    [`Invoice No,Date,Supplier\n100001,2020-01-31,${A}\n100002,2020-02-29,${B}`, 'name = Supplier'],
    [
      `Trading as,Registered name,CRO\nAlpha,${A},100001\nBeta,${B},0100002`,
      'name = Registered name, company_number = CRO',
    ],
    [`Company,VAT Number\n${A},IE6388047V\n${B},6388048`, 'name = Company'],
    [`Company,VAT Reg No\n${A},100001\n${B},100002`, 'name = Company'],
    [`Name,Number\n${A},100001\n${B},100002`, 'name = Name'],
    [`Name,No.\n${A},100001`, 'name = Name'],
    [`Company Number,Company\n1000001,${A}\n1000002,${B}`, 'name = Company'],
    [`Reg No,Company\n191-D-1234,${A}\n192-D-9,${B}`, 'name = Company'],
    [`Company,Company No,CRO\n${A},7,\n${B},8,`, 'name = Company, company_number = CRO'],
    [`Company,CRO\n${A},CRO 100001\n${B},"100,002"`, 'name = Company, company_number = CRO'],
    [`Company,Company Reg. No.,C.R.O. #\n${A},7,100001`, 'name = Company, company_number = C.R.O. #'],
    [
      `Company,Company Registration Number (CRO)\n${A},100001`,
      'name = Company, company_number = Company Registration Number (CRO)',
    ],
    [`Supplier,Employer\nS0001,${A}\nS0002,${B}`, 'name = Employer'],
    [`Supplier,Supplier name\nS0001,${A}\nS0002,${B}`, 'name = Supplier name'],
    [`Customer Name,Company\nAnn Sample,${A}\nBob Sample,${B} Ltd`, 'name = Company'],
    [`Company,Supplier\nOwn Sample Ltd,${A}\nOwn Sample Ltd,${B}`, 'name = Supplier'],
    [`Name,Bank name\nAlpha Sample,Sample Bank plc`, 'name = Name'],
    [`Name,Parent company\nAlpha Sample,Sample Parent plc`, 'name = Name'],
    [`Name,E-mail address,Web address\n${A},a@example.ie,example.ie`, 'name = Name'],
    [`Company,Where\n${A},T07 X2H5\n${B},D02X285\nC Sample,`, 'name = Company, eircode = Where'],
    [`Company,Post Code\n${A},d02 x285`, 'name = Company, eircode = Post Code'],
    [`Company,Postcode\n${A},SW1A 1AA\n${B},EC1A 1BB`, 'name = Company'],
    [`Company,Code\n${A},A001234\n${B},A001235`, 'name = Company'],
    [
      `Company,Addr 1,Addr 2,Addr 3,Addr 4,Town,County,Eircode\n${A},1 Sample St,,,,Cork,Co. Cork,`,
      'name = Company, eircode = Eircode, address = Addr 1 + Addr 2 + Addr 3 + Addr 4 + Town + County',
    ],
    [
      `Company,Delivery Address 1,Delivery Town,Registered Address,Registered Town\n${A},a,b,c,d`,
      'name = Company, address = Registered Address + Registered Town',
    ],
    [`Company,Town\n${A},Cork`, 'name = Company'],
    [`Company,1,2\n${A},5,6`, 'name = Company'],
    ['100001\n100002\n42', 'company_number = column 1'],
    ['Number\n100001\n100002', 'company_number = Number'],
    ['Company\n100001\n100002', 'company_number = Company'],
    ['Number\n00000000\n11', 'company_number = Number'],
    [`Id,Company\n1,${A}\n2,100002`, 'name = Company'],
    ['CRO,Note\n100001,a\n100002,', 'company_number = CRO'],
    ['Company ID\n100001\n100002', 'company_number = Company ID'],
    ['Company ID\nS0001\nS0002', ''],
    ['Supplier No\n100001\n100002', ''],
    ['Supplier No,Amount\n100001,7\n100002,8', ''],
    [`100001\n${B}`, 'name = column 1'],
    [`${A}\n${B}`, 'name = column 1'],
    ['Lieferant,Datum,Ort\nAlpha Sample GmbH,1,Bonn\nBeta Sample Ltd,2,Cork', 'name = Lieferant'],
    [`100001\t${A}\tDublin\n100002\t${B} Ltd\tCork`, 'name = column 2'],
    [`CRO 100001\t${A}\nCRO 100002\t${B}`, 'name = column 2, company_number = column 1'],
    ['First Name,Surname,Remark\nAnn,Sample,paid', ''],
    ['Description,Date,Amount\nPaid Sample,2020-01-31,7', ''],
  ]
  for (const [text, wanted] of cases)
    it(`are ${wanted || 'in doubt'} in ${JSON.stringify(text)}`, async () => {
      const { columns, header } = await read(text)
      expect(describeColumns(columns, header)).to.equal(wanted)
    })

  const unread: [text: string, column: number | undefined][] = [
    [`Name,Number\n${A},100001\n${B},100002`, 2],
    [`Registration,Name\n100001,${A}\n100002,${B}`, 1],
    [`Name,Company ID\n${A},100001\n${B},`, 2],
    [`Name,Nr.\n${A},"100,001"\n${B},0012345`, 2],
    [`Name,Turnover,Number\n${A},120000,100001`, 3],
    [`100001\t${A}\tDublin\n100002\t${B} Ltd\tCork`, 1],
    [`Name,Supplier No,Invoice ID,Amount\n${A},100001,100002,100003`, undefined],
    [`Name,VAT Number\n${A},100001`, undefined],
    [`Name,Number,CRO\n${A},100001,100002`, undefined],
    [`Id,Name,Founded\n1,${A},1998\n2,${B},2004`, undefined],
    [`Name,Number\n${A},IE6388047V\n${B},6388048`, undefined],
    [`Name,Number\n${A},`, undefined],
  ]
  for (const [text, column] of unread)
    it(`leave ${column === undefined ? 'no numbers' : `perhaps the numbers of column ${column}`} unread in ${JSON.stringify(text)}`, async () => {
      const { table, columns, headerRow } = await read(text)
      expect(findUnreadNumbers(columns, { rows: table.rows, headerRow })).to.equal(column)
    })

  it('are those of their positions, also if another header has their number', async () => {
    const { table, columns, headerRow } = await read(`Company,1,2\n${A},5,6`)
    expect(readList(table, { columns, headerRow }).rows.map(({ cells }) => cells)).to.deep.equal([{ name: A }])
  })

  it('make one address of the lines that have a text', async () => {
    const { table, columns, headerRow } = await read(`Company,Addr 1,Addr 2,Town\n${A},1 Sample St, ,Cork`)
    expect(readList(table, { columns, headerRow }).rows[0]?.cells.address).to.equal('1 Sample St, Cork')
  })

  it('are corrected by name or number, and a column is read as one field', async () => {
    const { table, columns, headerRow, header } = await read(
      `Supplier,Company,CRO,Address,none\nAlpha,${A},100001,1 Sample St,x`,
    )
    const correct = (given: Parameters<typeof correctColumns>[1]) =>
      describeColumns(correctColumns(columns, given, { rows: table.rows, headerRow }), header)
    expect(correct({})).to.equal('name = Company, company_number = CRO, address = Address')
    expect(correct({ name: 'Supplier' })).to.equal('name = Supplier, company_number = CRO, address = Address')
    expect(correct({ name: '3', address: ['Address', '1'] })).to.equal('name = CRO, address = Address + Supplier')
    expect(correct({ eircode: 'none' })).to.contain('eircode = none')
    expect(() => correct({ eircode: 'Postcode' })).to.throw(
      'The file has no column Postcode. Its columns are: Supplier',
    )
    const { rows } = await parseTable(Buffer.from(`Company,CRO\n${A},100001`), { name: 'x' })
    const without = correctColumns(proposeColumns(rows, 1), { company_number: 'none' }, { rows, headerRow: 1 })
    expect(describeColumns(without, rows[0])).to.equal('name = Company')
  })

  it('[15.18] are kept by their headers, or by their numbers if a header repeats, and those that are not read too', async () => {
    const { table, columns, header } = await read(`Supplier,CRO,Address,Address\n${A},100001,1 Sample St,Cork`)
    const kept = nameColumns(columns, header)
    expect(kept).to.deep.equal({ name: ['Supplier'], company_number: ['CRO'], eircode: [], address: [3, 4] })
    const rows = [['CRO', 'Eircode', 'Supplier', 'Town'], ...table.rows]
    const later = correctColumns({ eircode: 2 }, kept, { rows, headerRow: 1 })
    expect(later).to.deep.equal({ name: 3, company_number: 1, address: [3, 4] })
  })
})

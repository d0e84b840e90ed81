/** Which row of a list is the header, for lists as people paste and export them. */
import { expect } from 'chai'
import { proposeHeader } from '../../../buyer/lists/header.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'

const BELOW = 'Alpha Sample Trading Ltd'

describe('[15.14] the header of a list', () => {
  /** A row, 0 for none, or the row that a person is asked about. */
  const cases: [text: string, header: number | { asked: number }][] = [
    [`Gamma Sample Finance Designated Activity Company\n${BELOW}`, 0],
    [`Gamma Sample Company Limited by Guarantee\n${BELOW}`, 0],
    [`Customer Sample Public Limited Company\n${BELOW}`, 0],
    [`Vendor Sample DAC\n${BELOW}`, 0],
    [`Address Sample Teoranta\n${BELOW}`, 0],
    [`The Sample Name Company\nCustomer Care Sample`, 0],
    ['Foo\nBar', 0],
    ['100001\n100002', 0],
    ['CRO 100001\nCRO 100002', 0],
    ['D02 X285\nT12 AB34', 0],
    [`Company\tGamma Sample Holdings\nCompany\tBeta Sample`, { asked: 1 }],
    [`Customer\tGamma Sample Ltd\nCustomer\tBeta Sample Ltd`, 0],
    [`100001\tGamma Sample Company\n100002\tBeta Sample`, 0],
    [`Gamma Sample Company\t2020-01-31\nBeta Sample\t31 Jan 2020`, 0],
    [`Gamma Sample Company\tD02 X285\nBeta Sample\tT12 AB34`, 0],
    ...[
      'Company',
      'Suppliers',
      'Supplier name (Ireland)',
      'Company_Name',
      'CompanyName',
      'CRO No.',
      'Number',
      'Name of the company',
      'Registered Office Address',
      'Customer Address 1',
      'Legal entity name',
      'Vendor',
    ].map((heading): [string, number] => [`${heading}\n${BELOW}\nBeta Sample`, 1]),
    ['Company\nBeta Sample\nSample Stores', 1],
    ['Supplier No,Supplier Name,CRO Number\n7,Alpha Sample Trading Ltd,100001', 1],
    ['Contact Name,Company,Phone No,Reg No\nA,Alpha Sample Trading Ltd,01,100001', 1],
    ['Invoice No,Date,Supplier\n7,2020-01-31,Alpha Sample Trading Ltd', 1],
    ['Suppliers 2026;;\n;;\nname;town;no\nFoo;Cork;1', 3],
    [`Gamma Sample Company\n${BELOW}\nBeta Sample DAC`, { asked: 1 }],
    [`Lieferant\n${BELOW}`, { asked: 1 }],
    ['Firma;Ort\nRyanair;Dublin', { asked: 1 }],
    ['Company,2024,2025\nRyanair,1,2', { asked: 1 }],
    ['', 0],
  ]
  for (const [text, wanted] of cases)
    it(`is ${JSON.stringify(wanted)} of ${JSON.stringify(text)}`, async () => {
      const { rows } = await parseTable(Buffer.from(text), { name: 'x' })
      const { row, doubt } = proposeHeader(rows)
      expect(doubt === undefined ? row : { asked: row }).to.deep.equal(wanted)
      if (doubt !== undefined) expect(doubt).to.match(/^Row 1 is perhaps a header: \S/)
    })
})

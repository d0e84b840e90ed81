/** Lists as people paste, type and export them: what each row asks for. */
import { expect } from 'chai'
import { proposeHeader } from '../../../buyer/lists/header.ts'
import { readList } from '../../../buyer/lists/list.ts'
import { proposeColumns } from '../../../buyer/lists/propose-columns.ts'
import type { RowCells } from '../../../buyer/lists/rows.ts'
import { pastedSeparator } from '../../../buyer/lists/typed-lines.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'

const A = 'Alpha Sample Trading Ltd'
const B = 'Beta Sample Holdings'
const C = 'Gamma Sample Finance Designated Activity Company'
const X = { name: A, company_number: '100001' }

type Form = [what: string, text: string, asked: (RowCells | string)[], isPasted?: 'pasted']

/** `asked` has what each row below the header asks for, or its notes if it asks for nothing. */
const FORMS: Form[] = [
  ['a company with a word of headings first', `${C}\n${A}`, [{ name: C }, { name: A }]],
  ['the same, pasted', `${C}\n${A}`, [{ name: C }, { name: A }], 'pasted'],
  ['supplier numbers beside those of the register', `Supplier No,Supplier Name,CRO Number\n7,${A},100001`, [X]],
  ['account numbers', `Account Number,Company,CRO No.\n200002,${A},100001`, [X]],
  ['contacts and telephones', `Contact Name,Company,Phone No,Reg No\nAnn,${A},015550100,100001`, [X]],
  ['persons', `First Name,Surname,Supplier\nAnn,Sample,${A}`, [{ name: A }]],
  ['invoices', `Invoice No,Date,Supplier\n100002,2020-01-31,${A}`, [{ name: A }]],
  ['trading names', `Trading as,Registered name,CRO\nAlpha,${A},0100001`, [{ ...X, company_number: '0100001' }]],
  ['VAT numbers', `Company,VAT Number\n${A},6388047`, [{ name: A }]],
  ['an Eircode under another heading', `Company,Where\n${A},T07 X2H5`, [{ name: A, eircode: 'T07X2H5' }]],
  [
    'an address in five columns',
    `Company,Addr 1,Addr 2,Addr 3,Addr 4,Town\n${A},1 Sample St,,,,Cork`,
    [{ name: A, address: '1 Sample St, Cork' }],
  ],
  ['numbers alone', '100001\n100002', [{ company_number: '100001' }, { company_number: '100002' }]],
  ['numbered lines', `1. ${A}\n2. ${B}\n3) 100001`, [{ name: A }, { name: B }, { company_number: '100001' }], 'pasted'],
  ['lines with hyphens', `- ${A}\n- ${B}\n`, [{ name: A }, { name: B }], 'pasted'],
  ['lines with bullets', `•\t${A}\n•\t${B}`, [{ name: A }, { name: B }], 'pasted'],
  [
    'names that begin with numbers',
    `3 Sample Ltd\n1. Sample Ltd\n${A}`,
    [{ name: '3 Sample Ltd' }, { name: '1. Sample Ltd' }, { name: A }],
  ],
  [
    'a pasted CSV',
    `Supplier,Town\n"Alpha, Sample Ltd","Cork"\n"Beta ""B"" Ltd",Dublin`,
    [{ name: 'Alpha, Sample Ltd' }, { name: 'Beta "B" Ltd' }],
    'pasted',
  ],
  [
    'a pasted CSV with semicolons',
    `"Alpha, Sample Ltd";"Cork"\n"Beta Ltd";"Dublin"`,
    [{ name: 'Alpha, Sample Ltd' }, { name: 'Beta Ltd' }],
    'pasted',
  ],
  [
    'pasted names with commas',
    `Alpha, Beta Ltd\nGamma, "Delta", Ltd`,
    [{ name: 'Alpha, Beta Ltd' }, { name: 'Gamma, "Delta", Ltd' }],
    'pasted',
  ],
  [
    'a total below',
    `Suppliers\n${A}\n${B}\n\nTotal suppliers: 26\n`,
    [{ name: A }, { name: B }, '', 'left out as a total: Total suppliers: 26'],
    'pasted',
  ],
  [
    'a total of amounts below',
    `Supplier,Amount\n${A},7.50\nTotal,"€7.50"\n`,
    [{ name: A }, 'left out as a total: Total €7.50'],
  ],
  [
    'a total below numbers',
    '100001\n100002\nCount: 2',
    [{ company_number: '100001' }, { company_number: '100002' }, 'left out as a total: Count: 2'],
  ],
  [
    'companies with such names',
    `${A}\nTotal Sample 26 Ltd\nTotal`,
    [{ name: A }, { name: 'Total Sample 26 Ltd' }, { name: 'Total' }],
  ],
  ['a total within the list', `${A}\nTotal: 1\n${B}`, [{ name: A }, { name: 'Total: 1' }, { name: B }]],
]

describe('[15.14] a list has a row for each company:', () => {
  for (const [what, text, asked, isPasted] of FORMS)
    it(what, async () => {
      const separator = isPasted && pastedSeparator(text)
      const table = await parseTable(Buffer.from(text), { name: 'x', separator })
      const { row: headerRow, doubt } = proposeHeader(table.rows)
      expect(doubt).to.equal(undefined)
      const { rows } = readList(table, { columns: proposeColumns(table.rows, headerRow), headerRow })
      expect(rows.map(({ operation, notes }) => operation?.input ?? notes.join())).to.deep.equal(asked)
      const own = table.rows.slice(headerRow)
      for (const [at, { row }] of rows.entries()) expect(row.slice(0, own[at]?.length)).to.deep.equal(own[at])
    })
})

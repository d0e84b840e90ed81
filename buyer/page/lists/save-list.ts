/** A bought list as a file: every row of the person's file, the company of each, and the trail of each choice. */
import { resultCells, resultHead, type List } from '../../lists/list.ts'
import { uniqueNames } from '../../lists/result-columns.ts'
import { toText, type Cell } from '../../table/cell.ts'
import { encodeTable } from '../../table/write-table.ts'
import { toDay } from '../../../base/day.ts'
import { save } from '../elements.ts'
import { decidedResult, describeTrail, lastChoice, type ShownRow, type Trails } from './state.ts'

const TRAIL = 'choices'

interface Saved {
  name: string
  end: string
  trails: Trails
}

export async function saveList(list: List, rows: readonly ShownRow[], { name: given, end, trails }: Saved) {
  const name = `${given.replace(/\.\w+$/, '')}-companies.${end}`
  const head = resultHead(list, name)
  const header = head.pop()
  if (header) head.push([...header, ...uniqueNames([TRAIL], header.map(toText))])
  const cells = rows.map((row) => cellsOf(row, trails))
  const { width: addedFrom } = list
  // Pasted cells have tabs between them, which a spreadsheet does not expect in a CSV.
  const format = end === 'csv' && list.format.separator === '\t' ? undefined : list.format
  const headerRow = list.header && list.above.length + 1
  save(name, await encodeTable([...head, ...cells], { name, addedFrom, headerRow, ...(format && { format }) }))
}

function cellsOf({ known: { listed, result }, key }: ShownRow, trails: Trails): Cell[] {
  const steps = trails[key] ?? []
  const options = { receiptFolder: 'purchases', today: toDay(new Date()), hasAllColumns: false }
  return [...resultCells(listed, decidedResult(result, lastChoice(steps)), options), describeTrail(steps)]
}

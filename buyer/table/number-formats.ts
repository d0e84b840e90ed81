/** Which numbers of a sheet are dates and times (ECMA-376, part 1, section 18.8.30). Runs in browsers too. */
import type { Part } from './archive.ts'
import { TIME_EPOCH, type Cell } from './cell.ts'
import { attributeOf, scanXml } from './scan-xml.ts'
import { DAY_MS } from '../../base/day.ts'

/** `elapsed`: hours that can be more than a day. */
export type DateKind = 'date' | 'time' | 'elapsed'

/** Formats without a code in the file, as ranges of their ids. */
const BUILT_IN: readonly [first: number, last: number, kind: DateKind][] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'date'],
  [27, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'elapsed'],
  [47, 47, 'time'],
  [50, 58, 'date'],
]

/** The kinds of the styles of cells, by their indexes. */
export async function readStyles(part: Part): Promise<(DateKind | undefined)[]> {
  const own = new Map<number, DateKind | undefined>()
  const kinds: (DateKind | undefined)[] = []
  let isInCells = false
  await scanXml(part.read(), {
    open(name, attributes) {
      const id = Number(attributeOf(attributes, 'numFmtId') ?? 0)
      if (name === 'numFmt') own.set(id, kindOfFormat(attributeOf(attributes, 'formatCode') ?? ''))
      if (name === 'cellXfs') isInCells = true
      if (name === 'xf' && isInCells) {
        const built = BUILT_IN.find(([first, last]) => id >= first && id <= last)?.[2]
        kinds.push(own.has(id) ? own.get(id) : built)
      }
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false
    },
  })
  return kinds
}

/** The first section of a format, without literal text, colours and languages. */
function kindOfFormat(code: string): DateKind | undefined {
  const [letters = ''] = code.replaceAll(/"[^"]*"|\\.|[_*]./g, '').split(';', 1)
  if (/\[(?:h+|m+|s+)\]/i.test(letters)) return 'elapsed'
  const plain = letters.replaceAll(/\[[^\]]*\]/g, '')
  if (/general/i.test(plain)) return undefined
  if (/[yd]/i.test(plain)) return 'date'
  if (/[hs]/i.test(plain)) return 'time'
  return /m/i.test(plain) ? 'date' : undefined
}

const DAYS_OF_1904 = 1462
/** 9999-12-31. */
const SERIAL_MAX = 2_958_465
/** The format counts a 29 February 1900. */
const FIRST_DAYS = 60
/** Longer times are texts. */
const TIME_DAYS_MAX = 2

/** The date or the time that a number of days means. */
export function fromSerial(days: number, kind: DateKind, is1904: boolean): Cell {
  if (days < 0 || days > SERIAL_MAX) return days
  const timeFrom = (start: number) => new Date(start + Math.round(days * DAY_MS))
  if (days < 1 || (kind === 'elapsed' && days < TIME_DAYS_MAX)) return timeFrom(TIME_EPOCH)
  if (kind === 'elapsed') {
    const minutes = Math.round(days * 24 * 60)
    return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
  }
  if (is1904) return timeFrom(TIME_EPOCH + DAYS_OF_1904 * DAY_MS)
  return timeFrom(days < FIRST_DAYS ? TIME_EPOCH + DAY_MS : TIME_EPOCH)
}

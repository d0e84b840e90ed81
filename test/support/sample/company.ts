/** Generates one made-up company as a row of the register. The shares are those of the real register, in per mille. */
import { COLUMNS } from '../../../store/dataset/company.ts'
import { dateOfDay, dayNumber } from '../../../store/history/step.ts'
import type { RegisterRow } from '../../../store/import/rows.ts'
import { below, happens, pick, randomFor, weighted, type Random } from '../random.ts'
import { fill, withFada } from './words.ts'

const ROW_STREAM = 1
const NAME_STREAM = 2

/** Lower numbers belong to the fixed rows (showcase.ts). */
const NUMBER_FIRST = 200_001

/** Templates of names without the legal form. `fill` in words.ts defines the lower-case placeholders. */
const namePattern = weighted(`
  u 150, s s 180, u t 110, u e 110, s s e 165, s s t 35, u t e 50, s s t e 45, s s t t e 12, u & s 20, s & s e 15,
  u & t 24, s AND s e 15, u AND t 8, u + t 2, u'S e 13, O'u t 4, THE u t 13, l l s s 20, l l u e 20, l.l. u 10,
  u-u e 14, u (IRELAND) 8, s s (c) 10, u e n 18, n s e 3, g LEASING NO nd 18, f e 4, i f 4`)

/** Suffix of the name, code and text of the type. Code 1204 is made up, because no public source lists the real one. */
const legalForm = weighted(`
  LIMITED=1153=LTD - Private Company Limited by Shares 680, LIMITED=1119=Private limited by shares 200,
  LIMITED=1126=Single member private company limited by shares 38, LTD=1153=LTD - Private Company Limited by Shares 3,
  TEORANTA=1153=LTD - Private Company Limited by Shares 4,
  COMPANY LIMITED BY GUARANTEE=1156=CLG - Company Limited by Guarantee 25,
  CLG=1156=CLG - Company Limited by Guarantee 1,
  DESIGNATED ACTIVITY COMPANY=1154=DAC - Designated Activity Company (limited by shares) 13,
  UNLIMITED COMPANY=1159=ULC - Private Unlimited Company 9,
  PUBLIC LIMITED COMPANY=1111=PLC - Public Limited Company 4, PLC=1111=PLC - Public Limited Company 1,
  INC.=1115=External company 3, GMBH=1115=External company 3, =1115=External company 6, =1204=Unknown 9`)

/**
 * Code and text. Codes from 1171 on are made up. As in the register, `Normal` ends in a space and long texts are cut.
 */
const status = weighted(`
  1151=Normal  401, 1158=Dissolved 553, 1173=Dissolved-20 years 22, 1175=Dissolved PostMerger 2, 1171=Liquidation 11,
  1156=Strike Off Listed 4, 1174=Ceased IRL 3, 1176=Ceased 2, 1185=Examinership 1, 1182=Deleted as per SE Tr 1`)

/** NACE classes of recent companies. They are numbers, because the register drops leading zeros. */
const naceClass = weighted(`
  6420 117, 7022 81, 5610 38, 8299 36, 4120 34, 6499 34, 7490 24, 7112 23, 6209 23, 4791 19, 6202 17, 8690 17,
  4399 15, 4110 14, 150 14, 9602 13, 5911 13, 6820 12, 4321 12, 6920 11, 4618 11, 7735 10`)

/** The placeholder of the register for a company without an address. */
export const NO_ADDRESS = '********NO ADDRESS DETAILS*******'
/** A formation agent: one address for many companies. */
const AGENT_ADDRESS = ['FIRST FLOOR', '1 INCORPORATION QUAY', 'DUBLIN 2', 'DUBLIN 2, DUBLIN, Ireland', 'D77 A7P4']
const street = weighted('n u r 60, UNIT n u r 40')
/** No real routing key has a zero in the middle, except in Dublin (D), so none of these Eircodes exists. */
const eircode = weighted('k0d xxxx 81, k0dxxxx 19')

const NO_ADDRESS_RATE = 0.028
const AGENT_RATE = 0.02
/** Share of names with two spaces in a row. In the register they are mostly before the legal form. */
const DOUBLE_SPACE_RATE = 0.147
/** Share of rows whose name equals or resembles that of the row before. */
const SIMILAR_NAME_RATE = 0.004
const SIMILAR_NAMES: readonly ((name: string) => string)[] = [
  (name) => name,
  withFada,
  (name) => `${name.slice(0, 1)}'${name.slice(1)}`,
  (name) => name.replace(' ', '  '),
  // Invented words have no Q there.
  (name) => `${name.slice(0, 2)}Q${name.slice(3)}`,
]

const YEAR_DAYS = 365
/** Fixed, so that a seed gives the same bytes in every year. */
const [DAY_FIRST, DAY_LAST] = [dayNumber('1960-01-01'), dayNumber('2026-01-15')]

/** A row of the register. Absent columns are written as empty fields. */
type SampleRow = Partial<RegisterRow>

/** The fields of a row in the register's order. */
export function registerFields(row: SampleRow): string[] {
  return COLUMNS.map((column) => row[column] ?? '')
}

/** Returns the company at `index` of a register with `count` generated companies. Rows do not depend on each other. */
export function companyAt({ seed, index, count }: { seed: number; index: number; count: number }): SampleRow {
  const random = randomFor(seed, index, ROW_STREAM)
  const filled = (rate: number, text: string) => (happens(random, rate) ? text : '')
  const dayBetween = (first: number, last: number) => first + below(random, last - first + 1)
  const [statusCode = '', statusText = ''] = status(random).split('=')
  const isDissolved = statusText.startsWith('Dissolved')
  const registered = DAY_FIRST + Math.floor(((DAY_LAST - DAY_FIRST) * index) / count)
  const end = isDissolved ? dayBetween(registered, DAY_LAST) : DAY_LAST
  const lastReturn = dayBetween(Math.max(registered, end - 2 * YEAR_DAYS), end)
  const [address1 = '', address2 = '', address3 = '', address4 = '', code = ''] = address(random, filled)
  return {
    company_num: String(NUMBER_FIRST + index),
    ...nameAt(seed, index),
    company_status_code: statusCode,
    company_status: statusText,
    company_reg_date: filled(0.98, dateOfDay(registered)),
    last_ar_date: filled(0.735, dateOfDay(lastReturn)),
    company_address_1: address1,
    company_address_2: address2,
    company_address_3: address3,
    company_address_4: address4,
    comp_dissolved_date: isDissolved ? dateOfDay(end) : '',
    nard: filled(0.97, dateOfDay(lastReturn + YEAR_DAYS)),
    last_accounts_date: filled(0.6, dateOfDay(Math.max(registered, lastReturn - YEAR_DAYS))),
    company_status_date: filled(isDissolved ? 1 : 0.1, dateOfDay(end)),
    nace_v2_code: filled(0.31, `${naceClass(random)}.0`),
    eircode: code,
    company_name_eff_date: filled(0.98, dateOfDay(registered)),
    company_type_eff_date: filled(0.98, dateOfDay(registered)),
    princ_object_code: filled(0.56, `${10 + below(random, 87)}.${10 + below(random, 90)}`),
  }
}

function nameAt(seed: number, index: number): Pick<SampleRow, 'company_name' | 'company_type_code' | 'company_type'> {
  const random = randomFor(seed, index, NAME_STREAM)
  if (index > 0 && happens(random, SIMILAR_NAME_RATE)) {
    const before = nameAt(seed, index - 1)
    return { ...before, company_name: pick(random, SIMILAR_NAMES)(before.company_name ?? '') }
  }
  const [suffix = '', company_type_code = '', company_type = ''] = legalForm(random).split('=')
  const gap = happens(random, DOUBLE_SPACE_RATE) ? '  ' : ' '
  const company_name = (fill(random, namePattern(random)) + gap + suffix).trim()
  return { company_name, company_type_code, company_type }
}

/** Returns four lines and the Eircode. */
function address(random: Random, filled: (rate: number, text: string) => string): readonly string[] {
  if (happens(random, NO_ADDRESS_RATE)) return [NO_ADDRESS]
  if (happens(random, AGENT_RATE)) return AGENT_ADDRESS
  const town = fill(random, 'p')
  const lines = [fill(random, street(random)), filled(0.88, fill(random, 'u r')), filled(0.52, town)]
  return [...lines, `${town}, ${fill(random, 'c')}, Ireland`, filled(0.34, fill(random, eircode(random)))]
}

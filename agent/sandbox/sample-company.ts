/** One made-up company as a row of the register: its number, type, status, dates and codes, a small function each. */
import { COLUMNS, type Row } from '../../store/import/rows.ts'
import { address } from './sample-address.ts'
import { formAt, nameAt, twinAt, TWIN_KINDS, type Form } from './sample-name.ts'
import { below, happens, pickWeighted, randomFor, type Random, type Weighted } from './sample-random.ts'

/** The fields of a row in the register's order. */
export function registerFields(row: Row): string[] {
  return COLUMNS.map((column) => row[column])
}

const NUMBER_STREAM = 3
const STATUS_STREAM = 4
const DATES_STREAM = 5
const ADDRESS_STREAM = 6
const CODES_STREAM = 7
const TYPE_STREAM = 9

const DAY_MILLISECONDS = 86_400_000
const YEAR_DAYS = 365
/** The day the made-up register was written: fixed, for the same seed has to give the same bytes in every year. */
const REGISTER_DAY = dayOf('2026-01-15')

/** The last company number on that day. Numbers have no leading zeros and one to six digits. */
const NUMBER_LAST = 806_000
/** Numbers of the fixed rows: those below 50, and a thousand from 100000 on. */
const FIXED_NUMBERS_SMALL_LAST = 49
const FIXED_NUMBERS_FIRST = 100_000
const FIXED_NUMBERS_COUNT = 1_000

/** Numbers are given in order: the last number of some years, from which the day of registration follows. */
const NUMBERS_BY_DAY: readonly (readonly [number: number, day: number])[] = [
  [0, dayOf('1880-01-01')],
  // 157 companies of the register are older than 1900.
  [160, dayOf('1900-01-01')],
  [10_000, dayOf('1940-01-01')],
  [30_000, dayOf('1969-01-01')],
  [100_000, dayOf('1984-01-01')],
  [200_000, dayOf('1993-01-01')],
  [300_000, dayOf('1999-01-01')],
  [400_000, dayOf('2005-01-01')],
  [500_000, dayOf('2011-01-01')],
  [600_000, dayOf('2017-01-01')],
  [685_953, dayOf('2021-01-01')],
  [732_387, dayOf('2023-01-01')],
  [778_559, dayOf('2025-01-01')],
  [NUMBER_LAST, REGISTER_DAY],
]

type Status = { codes: readonly string[]; text: string; ended: boolean }
/** Shares of 814,836 rows. `Dissolved-20 years` (2.2 %) comes out of the dissolved ones, by their age. */
const STATUSES: Weighted<Status> = [
  // The space at the end is the register's.
  [{ codes: ['1151'], text: 'Normal ', ended: false }, 0.4012],
  [{ codes: ['1158'], text: 'Dissolved', ended: true }, 0.5743],
  // Codes from 1171 on are made up: no public source pairs these texts with theirs. Several codes can share a text.
  [{ codes: ['1171', '1172'], text: 'Liquidation', ended: false }, 0.0113],
  [{ codes: ['1156'], text: 'Strike Off Listed', ended: false }, 0.0038],
  [{ codes: ['1174'], text: 'Ceased IRL', ended: false }, 0.0032],
  [{ codes: ['1175'], text: 'Dissolved PostMerger', ended: true }, 0.0025],
  [{ codes: ['1176', '1177'], text: 'Ceased', ended: false }, 0.0015],
  // Fifteen more texts share 0.22 %; some of them are cut off at twenty characters, by the register.
  [{ codes: ['1178'], text: 'Struck Off', ended: false }, 0.0003],
  [{ codes: ['1179'], text: 'Dissolved by Divis', ended: true }, 0.0003],
  [{ codes: ['1180'], text: 'Deleted CB Conversion', ended: false }, 0.0003],
  [{ codes: ['1181'], text: 'Deleted CB Merger', ended: false }, 0.0003],
  [{ codes: ['1182'], text: 'Deleted as per SE Tr', ended: false }, 0.0002],
  [{ codes: ['1183'], text: 'Deleted per SE Merge', ended: false }, 0.0002],
  [{ codes: ['1184'], text: 'Liquidation Stayed', ended: false }, 0.0002],
  [{ codes: ['1185'], text: 'Examinership', ended: false }, 0.0002],
  [{ codes: ['1186'], text: 'Administration (UK)', ended: false }, 0.0002],
]
const DISSOLVED_20_YEARS: Status = { codes: ['1173'], text: 'Dissolved-20 years', ended: true }
const DISSOLVED_20_YEARS_DAYS = 20 * YEAR_DAYS
/** A tenth of all companies were dissolved over twenty years ago; this share of them gives the register's 2.2 %. */
const DISSOLVED_20_YEARS_RATE = 0.22

type CompanyType = readonly [code: string, text: string]
const LTD: CompanyType = ['1153', 'LTD - Private Company Limited by Shares']
/** Private companies' types until the Act of 2014; those dissolved before its change-over still have them. */
const LTD_BEFORE_2015: Weighted<CompanyType> = [
  [['1119', 'Private limited by shares'], 0.85],
  [['1126', 'Single member private company limited by shares'], 0.15],
]
const ACT_OF_2014_DAY = dayOf('2015-06-01')
/** The types of the other forms. Codes from 1201 on are made up: no public source pairs these texts with theirs. */
const TYPES: Record<Exclude<Form, 'ltd'>, Weighted<CompanyType>> = {
  clg: [
    [['1156', 'CLG - Company Limited by Guarantee'], 0.9],
    [['1201', 'CLG-Company Limited by Guarantee (licenced company)'], 0.1],
  ],
  dac: [
    [['1154', 'DAC - Designated Activity Company (limited by shares)'], 0.97],
    [['1155', 'DAC - Designated Activity Company (limited by guarantee)'], 0.03],
  ],
  uc: [
    [['1159', 'ULC - Private Unlimited Company'], 0.9],
    [['1157', 'PUC - Public Unlimited Company'], 0.07],
    [['1158', 'PULC - Public Unlimited Company without share capital'], 0.03],
  ],
  plc: [[['1111', 'PLC - Public Limited Company'], 1]],
  external: [[['1115', 'External company'], 1]],
  other: [
    [['1202', 'Guarantee licence company w/o sh/capital (public)'], 0.5],
    [['1203', 'U.C.I.T'], 0.2],
    [['1204', 'Unknown'], 0.3],
  ],
}

/** The register's null rates, in the order of the columns. */
const REG_DATE_EMPTY_RATE = 0.02
const LAST_AR_EMPTY_RATE = 0.265
const DISSOLVED_DATE_EMPTY_RATE = 0.008
const NARD_EMPTY_RATE = 0.031
const LAST_ACCOUNTS_EMPTY_RATE = 0.397
/** 39 % of all: nearly all companies that are `Normal` and have never been anything else. */
const STATUS_DATE_NORMAL_EMPTY_RATE = 0.97
const NACE_LIVE_RATE = 0.64
const NACE_OTHER_RATE = 0.089
const OBJECT_CODE_EMPTY_RATE = 0.437
/** Not published; the columns are seldom empty. */
const EFFECTIVE_DATE_EMPTY_RATE = 0.02

/** Companies that have changed their name since they were registered. Not published; renaming is uncommon. */
const RENAMED_RATE = 0.15
/** Accounts may be up to nine months old when a return is made. */
const ACCOUNTS_AGE_DAYS = 270

/** A date that stands for "unknown" in the register. Its rate isn't known; this one shows it in small samples. */
const SENTINEL_DATE = '1901-01-01'
const SENTINEL_RATE = 0.001

/** NACE classes by their share among recent companies. As numbers: the register loses the zero of 0150 and 0141. */
const NACE_CLASSES: Weighted<number> = [
  [6420, 117],
  [7022, 81],
  [5610, 38],
  [8299, 36],
  [4120, 34],
  [6499, 34],
  [7490, 24],
  [7112, 23],
  [6209, 23],
  [4791, 19],
  [6202, 17],
  [8690, 17],
  [4399, 15],
  [4110, 14],
  [150, 14],
  [9602, 13],
  [5911, 13],
  [6820, 12],
  [4321, 12],
  [6920, 11],
  [4618, 11],
  [7735, 10],
  [141, 6],
  [111, 2],
]

/** The index-th made-up company of a register in which `count` companies are made up. */
export function companyAt({ seed, index, count }: { seed: number; index: number; count: number }): Row {
  const number = numberAt(seed, index, count)
  const registered = registrationDay(number)
  const life = lifeOf(randomFor(seed, index, STATUS_STREAM), registered)
  const [typeCode, typeText] = typeOf(randomFor(seed, index, TYPE_STREAM), formAt(seed, index), registered, life)
  const { lines, eircode } = address(randomFor(seed, addressIndex(index), ADDRESS_STREAM), life.isLive)
  const codes = randomFor(seed, index, CODES_STREAM)
  return {
    company_num: String(number),
    company_name: nameAt(seed, index),
    company_status_code: life.statusCode,
    company_status: life.statusText,
    company_type_code: typeCode,
    company_type: typeText,
    company_address_1: lines[0],
    company_address_2: lines[1],
    company_address_3: lines[2],
    company_address_4: lines[3],
    eircode,
    ...dates(randomFor(seed, index, DATES_STREAM), registered, life),
    nace_v2_code: naceCode(codes, life.isLive),
    princ_object_code: objectCode(codes),
  }
}

/** Rising and without repeats: the index-th of `count` equal parts of the numbers, and a place in it. */
function numberAt(seed: number, index: number, count: number): number {
  const free = Math.max(count, NUMBER_LAST - FIXED_NUMBERS_SMALL_LAST - FIXED_NUMBERS_COUNT)
  const part = free / count
  const place = Math.floor(index * part) + below(randomFor(seed, index, NUMBER_STREAM), Math.floor(part))
  const number = place + FIXED_NUMBERS_SMALL_LAST + 1
  return number < FIXED_NUMBERS_FIRST ? number : number + FIXED_NUMBERS_COUNT
}

function registrationDay(number: number): number {
  const after = NUMBERS_BY_DAY.findIndex(([last]) => last > number)
  const [startNumber, startDay] = NUMBERS_BY_DAY[after - 1] ?? [NUMBER_LAST, REGISTER_DAY]
  const [endNumber, endDay] = NUMBERS_BY_DAY[after] ?? [number + 1, REGISTER_DAY]
  return startDay + Math.floor(((number - startNumber) * (endDay - startDay)) / (endNumber - startNumber))
}

/** What became of a company. `dissolvedDay` also when the register has forgotten the date. */
type Life = { statusCode: string; statusText: string; isLive: boolean; dissolvedDay: number | undefined }

function lifeOf(random: Random, registered: number): Life {
  const drawn = pickWeighted(random, STATUSES)
  const dissolvedDay = drawn.ended ? dayBetween(random, registered, REGISTER_DAY) : undefined
  const isOld = dissolvedDay !== undefined && REGISTER_DAY - dissolvedDay > DISSOLVED_20_YEARS_DAYS
  const status = isOld && happens(random, DISSOLVED_20_YEARS_RATE) ? DISSOLVED_20_YEARS : drawn
  const statusCode = status.codes[below(random, status.codes.length)] ?? ''
  return { statusCode, statusText: status.text, isLive: status.text === 'Normal ', dissolvedDay }
}

function typeOf(random: Random, form: Form, registered: number, { dissolvedDay }: Life): CompanyType {
  if (form !== 'ltd') return pickWeighted(random, TYPES[form])
  const keepsOldType = registered < ACT_OF_2014_DAY && dissolvedDay !== undefined
  return keepsOldType ? pickWeighted(random, LTD_BEFORE_2015) : LTD
}

/** Twins of one name live at one address every other time, so an Eircode tells some of them apart and not the others. */
function addressIndex(index: number): number {
  const twin = twinAt(index)
  return twin && Math.floor(twin.pair / TWIN_KINDS.length) % 2 === 0 ? twin.leader : index
}

type DateColumns = Pick<
  Row,
  | 'company_reg_date'
  | 'last_ar_date'
  | 'comp_dissolved_date'
  | 'nard'
  | 'last_accounts_date'
  | 'company_status_date'
  | 'company_name_eff_date'
  | 'company_type_eff_date'
>

function dates(random: Random, registered: number, { isLive, dissolvedDay }: Life): DateColumns {
  const end = dissolvedDay ?? REGISTER_DAY
  const changed = dissolvedDay ?? dayBetween(random, registered, REGISTER_DAY)
  const lastReturn = dayBetween(random, Math.max(registered, end - 2 * YEAR_DAYS), end)
  const lastAccounts = Math.max(registered, lastReturn - ACCOUNTS_AGE_DAYS)
  const named = happens(random, RENAMED_RATE) ? dayBetween(random, registered, end) : registered
  return {
    company_reg_date: registerDate(random, registered, REG_DATE_EMPTY_RATE),
    last_ar_date: registerDate(random, lastReturn, LAST_AR_EMPTY_RATE),
    comp_dissolved_date:
      dissolvedDay === undefined ? '' : registerDate(random, dissolvedDay, DISSOLVED_DATE_EMPTY_RATE),
    nard: registerDate(random, lastReturn + YEAR_DAYS, NARD_EMPTY_RATE),
    last_accounts_date: registerDate(random, lastAccounts, LAST_ACCOUNTS_EMPTY_RATE),
    company_status_date: registerDate(random, changed, isLive ? STATUS_DATE_NORMAL_EMPTY_RATE : 0),
    company_name_eff_date: registerDate(random, named, EFFECTIVE_DATE_EMPTY_RATE),
    company_type_eff_date: registerDate(random, registered, EFFECTIVE_DATE_EMPTY_RATE),
  }
}

function registerDate(random: Random, day: number, emptyRate: number): string {
  if (happens(random, emptyRate)) return ''
  return happens(random, SENTINEL_RATE) ? SENTINEL_DATE : new Date(day * DAY_MILLISECONDS).toISOString().slice(0, 10)
}

/** As the register writes it, a number with a fraction: `6420.0`, `150.0`. */
function naceCode(random: Random, isLive: boolean): string {
  return happens(random, isLive ? NACE_LIVE_RATE : NACE_OTHER_RATE) ? `${pickWeighted(random, NACE_CLASSES)}.0` : ''
}

function objectCode(random: Random): string {
  return happens(random, OBJECT_CODE_EMPTY_RATE) ? '' : `${10 + below(random, 87)}.${10 + below(random, 90)}`
}

function dayBetween(random: Random, first: number, last: number): number {
  return first + below(random, last - first + 1)
}

function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MILLISECONDS
}

/** The fixed rows of every made-up register: companies for documents and tests, and one row of each kind of damage. */
import type { RegisterRow } from '../../../store/import/rows.ts'
import { NO_ADDRESS, registerFields } from './company.ts'

type SampleRow = Partial<RegisterRow>

/** Companies that tests name, with their legal names as sold. */
export const SAMPLE_SHOWCASE = {
  live: { number: '100001', name: 'ALPHA SAMPLE TRADING LIMITED' },
  quarantinedByName: { number: '100006', name: 'ZETA SAMPLE CONFLICT LIMITED' },
} as const

/** The changes of the fixed rows. Each happened a number of days before the day of the sample. */
export const SAMPLE_HISTORY = {
  formerName: { name: 'ALPHA SAMPLE ENTERPRISES LIMITED', daysAgo: 2 },
  added: { number: '100003', daysAgo: 1 },
  removed: { number: '100035', name: 'PI SAMPLE FAREWELL LIMITED', daysAgo: 0 },
} as const

/** The counts that an import of any sample reports. Only the fixed rows are damaged. */
export const SAMPLE_DAMAGE = { rejectedRows: 5, quarantinedCompanies: 2 } as const

function live(number: string, name: string, changes: SampleRow = {}): SampleRow {
  return {
    company_num: number,
    company_name: name,
    company_status_code: '1151',
    company_status: 'Normal ',
    company_type_code: '1153',
    company_type: 'LTD - Private Company Limited by Shares',
    company_reg_date: '2016-03-01',
    last_ar_date: '2025-09-01',
    company_address_1: '1 Sample Street',
    company_address_2: 'SAMPLEFIELD',
    company_address_4: 'Samplefield, CORK, Ireland',
    nard: '2026-09-01',
    last_accounts_date: '2024-12-31',
    nace_v2_code: '6202.0',
    company_name_eff_date: '2016-03-01',
    company_type_eff_date: '2016-03-01',
    princ_object_code: '62.02',
    ...changes,
  }
}

function dissolved(number: string, name: string, changes: SampleRow = {}): SampleRow {
  return live(number, name, {
    company_status_code: '1158',
    company_status: 'Dissolved',
    company_type_code: '1119',
    company_type: 'Private limited by shares',
    company_reg_date: '1984-01-04',
    comp_dissolved_date: '2012-05-31',
    company_status_date: '2012-05-31',
    last_ar_date: '2009-10-01',
    nace_v2_code: '',
    ...changes,
  })
}

const { live: LIVE, quarantinedByName: QUARANTINED } = SAMPLE_SHOWCASE
const REPEATED = live('100008', 'THETA SAMPLE REPEATED LIMITED', { eircode: 'K03 T5R7' })

/** The rows in file order. Repeated numbers are not adjacent, as in the register. */
export const SHOWCASE_ROWS: readonly SampleRow[] = [
  live(LIVE.number, LIVE.name, { eircode: 'T07 X2H5' }),
  dissolved('100002', 'BETA SAMPLE HOLDINGS LIMITED'),
  dissolved('7', 'ANTIQUE SAMPLE COMPANY LIMITED', {
    company_status_code: '1173',
    company_status: 'Dissolved-20 years',
    company_reg_date: '1881-06-14',
    comp_dissolved_date: '1961-02-20',
    company_status_date: '1961-02-20',
    last_ar_date: '',
  }),
  live('100003', 'GAMMA SAMPLE FINANCE DESIGNATED ACTIVITY COMPANY', {
    company_type_code: '1154',
    company_type: 'DAC - Designated Activity Company (limited by shares)',
    // NACE class 0150; the register drops the leading zero.
    nace_v2_code: '150.0',
    eircode: 'D77A7P4',
  }),
  live('100004', 'DELTA SAMPLE COMMUNITY COMPANY LIMITED BY GUARANTEE', {
    company_type_code: '1156',
    company_type: 'CLG - Company Limited by Guarantee',
  }),
  live('100005', 'SEIRBHÍSÍ SAMPLACHA EIPSEALÓN TEORANTA', { company_address_4: ', Ireland' }),
  live(QUARANTINED.number, QUARANTINED.name),
  live('100007', 'ETA SAMPLE CONFLICT LIMITED'),
  REPEATED,
  // Equal names: with the same Eircode, and with different ones.
  live('100011', 'IOTA SAMPLE TWIN LIMITED', { eircode: 'H09 V4C2' }),
  live('100012', 'IOTA SAMPLE TWIN LIMITED', { eircode: 'H09 V4C2' }),
  live('100013', 'KAPPA SAMPLE TWIN LIMITED', { eircode: 'V05 P6K1' }),
  live('100014', 'KAPPA SAMPLE TWIN LIMITED', {
    eircode: 'Y03 E8N9',
    company_address_4: 'Samplestown, WEXFORD, Ireland',
  }),
  // Names that differ in a fada, an apostrophe or a space.
  live('100015', 'SÁMPLÚN LIMITED'),
  live('100016', 'SAMPLUN LIMITED'),
  live('100017', "MAMMOTH SAMPLE'S LIMITED"),
  live('100018', 'MAMMOTH SAMPLES LIMITED'),
  live('100019', 'LAMBDA SAMPLE SPACES LIMITED'),
  live('100020', 'LAMBDA SAMPLE  SPACES LIMITED'),
  live('100021', 'NU & XI SAMPLE BAKERY LIMITED'),
  live('100022', 'OMICRON + PI SAMPLE DESIGN LIMITED'),
  // A zero-width space and a bidi mark, which are removed from the legal name.
  live('100023', 'RHO \u200BSAMPLE \u200FHIDDEN LIMITED'),
  live('100024', 'sigma sample quiet limited'),
  live('100026', 'THE TAU SAMPLE AGENCY ', { company_type_code: '1204', company_type: 'Unknown' }),
  live('100029', 'THE "CHI" SAMPLE HOUSE, LIMITED'),
  live('100030', 'PSI SAMPLE DIRT LIMITED', {
    company_reg_date: '2019-02-31',
    last_ar_date: '31/12/2024',
    nace_v2_code: 'none',
    eircode: 'DO7-A7P4',
  }),
  live('100031', 'OMEGA SAMPLE LINES LIMITED', { company_address_1: 'UNIT 4\nSAMPLE COURT' }),
  live('100033', 'TWICE LOST SAMPLE LIMITED', { company_address_3: `${NO_ADDRESS} ${NO_ADDRESS}` }),
  live('42', 'UNDATED SAMPLE LIMITED', { company_reg_date: '1901-01-01', company_name_eff_date: '1901-01-01' }),
  live(QUARANTINED.number, 'ZETA SAMPLE RENAMED LIMITED'),
  dissolved('100007', 'ETA SAMPLE CONFLICT LIMITED'),
  REPEATED,
]

const { formerName, added, removed } = SAMPLE_HISTORY

/** The fixed rows as they were so many days before the sample. */
export function showcaseRows(daysAgo: number): readonly SampleRow[] {
  const rows = SHOWCASE_ROWS.filter(({ company_num }) => company_num !== added.number || daysAgo <= added.daysAgo)
  const named = rows.map((row) => (row.company_num === LIVE.number ? alphaBefore(row, daysAgo) : row))
  return daysAgo > removed.daysAgo ? [...named, live(removed.number, removed.name)] : named
}

function alphaBefore(row: SampleRow, daysAgo: number): SampleRow {
  return daysAgo > formerName.daysAgo ? { ...row, company_name: formerName.name } : row
}

/** Rows without a number, with a blank name, with a letter in the number, and with 20 and 22 columns. */
export const REJECTED_ROWS: readonly (readonly string[])[] = [
  registerFields(live('', 'NUMBERLESS SAMPLE LIMITED')),
  registerFields(live('100901', ' ')),
  registerFields(live('10O902', 'LETTERED SAMPLE LIMITED')),
  registerFields(live('100903', 'SHORT SAMPLE LIMITED')).slice(0, -1),
  [...registerFields(live('100904', 'LONG SAMPLE LIMITED')), ''],
]

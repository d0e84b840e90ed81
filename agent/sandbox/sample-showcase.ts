/**
 * The fixed rows every made-up register begins with: companies that documents and tests can name, and one row of each
 * kind of damage, so that even the smallest sample has them all.
 */
import type { Row } from '../../store/import/rows.ts'
import { NO_ADDRESS } from './sample-address.ts'
import { registerFields } from './sample-company.ts'

/** The companies worth naming, by what they show. Names are legal names as a buyer sees them. */
export const SAMPLE_SHOWCASE = {
  live: { number: '100001', name: 'ALPHA SAMPLE TRADING LIMITED' },
  dissolved: { number: '100002', name: 'BETA SAMPLE HOLDINGS LIMITED' },
  dissolvedOver20Years: { number: '7', name: 'ANTIQUE SAMPLE COMPANY LIMITED' },
  designatedActivity: { number: '100003', name: 'GAMMA SAMPLE FINANCE DESIGNATED ACTIVITY COMPANY' },
  guarantee: { number: '100004', name: 'DELTA SAMPLE COMMUNITY COMPANY LIMITED BY GUARANTEE' },
  irish: { number: '100005', name: 'SEIRBHÍSÍ SAMPLACHA EIPSEALÓN TEORANTA' },
  quarantinedByName: { number: '100006', name: 'ZETA SAMPLE CONFLICT LIMITED' },
  quarantinedByStatus: { number: '100007', name: 'ETA SAMPLE CONFLICT LIMITED' },
  repeated: { number: '100008', name: 'THETA SAMPLE REPEATED LIMITED' },
  /** Two companies of one name at one Eircode: nothing but the number tells them apart. */
  sameNameFirst: { number: '100011', name: 'IOTA SAMPLE TWIN LIMITED' },
  sameNameSecond: { number: '100012', name: 'IOTA SAMPLE TWIN LIMITED' },
  /** Two companies of one name whose Eircodes differ. */
  sameNameApartFirst: { number: '100013', name: 'KAPPA SAMPLE TWIN LIMITED' },
  sameNameApartSecond: { number: '100014', name: 'KAPPA SAMPLE TWIN LIMITED' },
  fada: { number: '100015', name: 'SÁMPLÚN LIMITED' },
  withoutFada: { number: '100016', name: 'SAMPLUN LIMITED' },
  apostrophe: { number: '100017', name: "MAMMOTH SAMPLE'S LIMITED" },
  withoutApostrophe: { number: '100018', name: 'MAMMOTH SAMPLES LIMITED' },
  singleSpaces: { number: '100019', name: 'LAMBDA SAMPLE SPACES LIMITED' },
  doubleSpace: { number: '100020', name: 'LAMBDA SAMPLE  SPACES LIMITED' },
  ampersand: { number: '100021', name: 'NU & XI SAMPLE BAKERY LIMITED' },
  plus: { number: '100022', name: 'OMICRON + PI SAMPLE DESIGN LIMITED' },
  /** The register's bytes hold a zero-width space and a bidi mark, which a buyer doesn't see. */
  hiddenCharacters: { number: '100023', name: 'RHO SAMPLE HIDDEN LIMITED' },
  lowerCase: { number: '100024', name: 'sigma sample quiet limited' },
  oneWord: { number: '100025', name: 'SAMPLEXANDRIA LIMITED' },
  withoutSuffix: { number: '100026', name: 'THE TAU SAMPLE AGENCY' },
  parentheses: { number: '100027', name: 'UPSILON SAMPLE (IRELAND) UNLIMITED COMPANY' },
  digits: { number: '100028', name: '4 PHI SAMPLE LEASING NO 12 PUBLIC LIMITED COMPANY' },
  quotes: { number: '100029', name: 'THE "CHI" SAMPLE HOUSE, LIMITED' },
  /** Its rows have a number, a name and bad values in several other columns. */
  malformedValues: { number: '100030', name: 'PSI SAMPLE DIRT LIMITED' },
  newlineInAddress: { number: '100031', name: 'OMEGA SAMPLE LINES LIMITED' },
  noAddress: { number: '100032', name: 'LOST SAMPLE LIMITED' },
  noAddressTwice: { number: '100033', name: 'TWICE LOST SAMPLE LIMITED' },
  sentinelDate: { number: '42', name: 'UNDATED SAMPLE LIMITED' },
} as const satisfies Record<string, { number: string; name: string }>

/** What an import of any sample reports, whatever its size and seed; the damage is in the fixed rows only. */
export const SAMPLE_DAMAGE = {
  /** No number, a blank name, letters in the number, a column too few, a column too many. */
  rejectedRows: 5,
  /** Numbers with rows that contradict each other, and how many rows those are. */
  quarantinedCompanies: 2,
  quarantinedRows: 4,
  /** Rows that repeat another to the byte. */
  identicalRepeats: 1,
} as const

const LIVE_ROW: Omit<Row, 'company_num' | 'company_name'> = {
  company_status_code: '1151',
  company_status: 'Normal ',
  company_type_code: '1153',
  company_type: 'LTD - Private Company Limited by Shares',
  company_reg_date: '2016-03-01',
  last_ar_date: '2025-09-01',
  company_address_1: '1 Sample Street',
  company_address_2: 'SAMPLEFIELD',
  company_address_3: '',
  company_address_4: 'Samplefield, CORK, Ireland',
  comp_dissolved_date: '',
  nard: '2026-09-01',
  last_accounts_date: '2024-12-31',
  company_status_date: '',
  nace_v2_code: '6202.0',
  eircode: '',
  company_name_eff_date: '2016-03-01',
  company_type_eff_date: '2016-03-01',
  princ_object_code: '62.02',
}

type Role = keyof typeof SAMPLE_SHOWCASE

function row(role: Role, changes: Partial<Row> = {}): Row {
  const { number, name } = SAMPLE_SHOWCASE[role]
  return { ...LIVE_ROW, company_num: number, company_name: name, ...changes }
}

const DISSOLVED = {
  company_status_code: '1158',
  company_status: 'Dissolved',
  company_type_code: '1119',
  company_type: 'Private limited by shares',
  company_reg_date: '1984-01-04',
  comp_dissolved_date: '2012-05-31',
  last_ar_date: '2009-10-01',
  company_status_date: '2012-05-31',
  nace_v2_code: '',
}
const REPEATED = row('repeated', { eircode: 'K03 T5R7' })

/** The rows in file order. Repeats of a number stand apart, as nothing says that they follow each other. */
export const SHOWCASE_ROWS: readonly Row[] = [
  row('live', { eircode: 'T07 X2H5' }),
  row('dissolved', DISSOLVED),
  row('dissolvedOver20Years', {
    ...DISSOLVED,
    company_status_code: '1173',
    company_status: 'Dissolved-20 years',
    company_reg_date: '1881-06-14',
    comp_dissolved_date: '1961-02-20',
    company_status_date: '1961-02-20',
    last_ar_date: '',
    company_address_1: NO_ADDRESS,
    company_address_2: '',
    company_address_4: '',
  }),
  row('designatedActivity', {
    company_type_code: '1154',
    company_type: 'DAC - Designated Activity Company (limited by shares)',
    // The number of the class 0150: the register has lost its zero.
    nace_v2_code: '150.0',
    eircode: 'D77A7P4',
  }),
  row('guarantee', {
    company_type_code: '1156',
    company_type: 'CLG - Company Limited by Guarantee',
    eircode: 'D77 A7P4',
  }),
  row('irish', { company_address_4: ', Ireland' }),
  row('quarantinedByName'),
  row('quarantinedByStatus'),
  REPEATED,
  row('sameNameFirst', { eircode: 'H09 V4C2' }),
  row('sameNameSecond', { eircode: 'H09 V4C2' }),
  row('sameNameApartFirst', { eircode: 'V05 P6K1' }),
  row('sameNameApartSecond', { eircode: 'Y03 E8N9', company_address_4: 'Samplestown, WEXFORD, Ireland' }),
  row('fada'),
  row('withoutFada', { eircode: 'P08 A2D3' }),
  row('apostrophe'),
  row('withoutApostrophe', { eircode: 'R04 F4H5' }),
  row('singleSpaces'),
  row('doubleSpace', { eircode: 'W02 C6X7' }),
  row('ampersand'),
  row('plus'),
  row('hiddenCharacters', { company_name: 'RHO \u200BSAMPLE \u200FHIDDEN LIMITED' }),
  row('lowerCase'),
  row('oneWord'),
  // D6W is the one routing key that ends in a letter. The space at the end of the name is the register's.
  row('withoutSuffix', {
    company_name: `${SAMPLE_SHOWCASE.withoutSuffix.name} `,
    company_type_code: '1204',
    company_type: 'Unknown',
    eircode: 'D6W XX00',
  }),
  row('parentheses', { company_type_code: '1159', company_type: 'ULC - Private Unlimited Company' }),
  row('digits', { company_type_code: '1111', company_type: 'PLC - Public Limited Company' }),
  row('quotes'),
  row('malformedValues', {
    company_reg_date: '2019-02-31',
    last_ar_date: '31/12/2024',
    nace_v2_code: 'none',
    eircode: 'DO7-A7P4',
  }),
  row('newlineInAddress', { company_address_1: 'UNIT 4\nSAMPLE COURT' }),
  row('noAddress', { company_address_1: NO_ADDRESS, company_address_2: '', company_address_4: '' }),
  row('noAddressTwice', { company_address_3: `${NO_ADDRESS} ${NO_ADDRESS}` }),
  row('sentinelDate', { company_reg_date: '1901-01-01', company_name_eff_date: '1901-01-01' }),
  row('quarantinedByName', { company_name: 'ZETA SAMPLE RENAMED LIMITED' }),
  row('quarantinedByStatus', DISSOLVED),
  REPEATED,
]

/** Rows that can't be companies, as fields, since two of them haven't 21. */
export const REJECTED_ROWS: readonly (readonly string[])[] = [
  registerFields({ ...LIVE_ROW, company_num: '', company_name: 'NUMBERLESS SAMPLE LIMITED' }),
  registerFields({ ...LIVE_ROW, company_num: '100901', company_name: ' ' }),
  registerFields({ ...LIVE_ROW, company_num: '10O902', company_name: 'LETTERED SAMPLE LIMITED' }),
  registerFields({ ...LIVE_ROW, company_num: '100903', company_name: 'SHORT SAMPLE LIMITED' }).slice(0, -1),
  [...registerFields({ ...LIVE_ROW, company_num: '100904', company_name: 'LONG SAMPLE LIMITED' }), ''],
]

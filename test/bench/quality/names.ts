/**
 * The benchmark's own normaliser and parser of legal forms. It shares no code with the service, so a defect of the
 * service's normaliser shows as a wrong answer.
 */
import type { Random } from '../../support/random.ts'

export type LegalForm = 'ltd' | 'dac' | 'clg' | 'plc' | 'uc'

/** Notations of each legal form. Notations that also end ordinary names (CN, SE, CTR) are left out. */
export const LEGAL_FORMS: Record<LegalForm, readonly string[]> = {
  ltd: ['LIMITED', 'LTD', 'LTD.', 'TEORANTA', 'TEO', 'Limited', 'Ltd'],
  dac: ['DESIGNATED ACTIVITY COMPANY', 'DAC', 'D.A.C.', 'CUIDEACHTA GHNÍOMHAÍOCHTA AINMNITHE'],
  clg: ['COMPANY LIMITED BY GUARANTEE', 'CLG', 'C.L.G.', 'CUIDEACHTA FAOI THEORAINN RÁTHAÍOCHTA'],
  plc: ['PUBLIC LIMITED COMPANY', 'PLC', 'P.L.C.', 'CUIDEACHTA PHOIBLÍ THEORANTA', 'CPT'],
  uc: ['UNLIMITED COMPANY', 'UC', 'ULC', 'CUIDEACHTA NEAMHTHEORANTA'],
}
const SURFACE_WORDS_MAX = 4

const APOSTROPHES = /['\u2018\u2019\u02BC\u0060\u00B4]/gu
/** The dots in A.B.C. */
const INITIALS_DOT = /(?<=(?<![\p{L}\p{N}])\p{L})\.(?=\p{L}(?![\p{L}\p{N}]))/gu
/** The spaces in A B C. */
const INITIALS_SPACE = /(?<=(?<![\p{L}\p{N}])\p{L}) (?=\p{L}(?![\p{L}\p{N}]))/gu
/** The space in O Brien. */
const PREFIX_SPACE = /(?<=(?<![\p{L}\p{N}])(?:o|mc)) (?=\p{L}{3})/gu

/** Normalises a name. Two names are strictly equal when their normal forms are. */
export function fold(name: string): string {
  return name
    .replace(APOSTROPHES, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(INITIALS_DOT, '')
    .replace(/[&+]/g, ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bagus\b/g, 'and')
    .replace(INITIALS_SPACE, '')
    .replace(PREFIX_SPACE, '')
}

const FORM_OF_SURFACE = new Map(
  Object.entries(LEGAL_FORMS).flatMap(([form, written]) => written.map((each) => [fold(each), form as LegalForm])),
)

interface NameParts {
  /** The name before the legal form, as written. */
  core: string
  /** The legal form as written; empty when the name has none. */
  surface: string
  form: LegalForm | undefined
}

/** Splits off the legal form at the end, unless nothing would be left. */
export function partsOf(name: string): NameParts {
  const words = name.trim().split(/\s+/)
  for (let count = Math.min(SURFACE_WORDS_MAX, words.length - 1); count > 0; count -= 1) {
    const surface = words.slice(-count).join(' ')
    const form = FORM_OF_SURFACE.get(fold(surface))
    const core = words
      .slice(0, -count)
      .join(' ')
      .replace(/[\s,]+$/, '')
    if (form && core !== '') return { core, surface, form }
  }
  return { core: words.join(' '), surface: '', form: undefined }
}

export function joined({ core, surface }: Pick<NameParts, 'core' | 'surface'>): string {
  return surface === '' ? core : `${core} ${surface}`
}

export type Change = (random: Random, name: string) => string | undefined

/** Changes the name and keeps its legal form. */
export const inCore =
  (change: Change): Change =>
  (random, name) => {
    const { core, surface } = partsOf(name)
    const changed = change(random, core)
    return changed === undefined ? undefined : joined({ core: changed, surface })
  }

/** The words before the legal form, normalised. */
export function coreWords(name: string): string[] {
  return fold(partsOf(name).core).split(' ')
}

/** Changes the legal form of a name: another notation, none, or a different form. */
import { pick, type Random } from '../../../agent/sandbox/sample-random.ts'
import { fold, joined, partsOf, type LegalForm } from './names.ts'

const WRITTEN: Record<LegalForm, readonly string[]> = {
  ltd: ['LIMITED', 'LTD', 'LTD.', 'TEORANTA', 'TEO', 'Limited', 'Ltd'],
  dac: ['DESIGNATED ACTIVITY COMPANY', 'DAC', 'D.A.C.', 'CUIDEACHTA GHNÍOMHAÍOCHTA AINMNITHE'],
  clg: ['COMPANY LIMITED BY GUARANTEE', 'CLG', 'C.L.G.', 'CUIDEACHTA FAOI THEORAINN RÁTHAÍOCHTA'],
  plc: ['PUBLIC LIMITED COMPANY', 'PLC', 'P.L.C.', 'CUIDEACHTA PHOIBLÍ THEORANTA', 'CPT'],
  uc: ['UNLIMITED COMPANY', 'UC', 'ULC', 'CUIDEACHTA NEAMHTHEORANTA'],
}

export function formSwapped(random: Random, name: string): string | undefined {
  const { core, surface, form } = partsOf(name)
  if (form === undefined) return undefined
  const others = WRITTEN[form].filter((written) => fold(written) !== fold(surface))
  return joined({ core, surface: pick(random, others) })
}

export function formDropped(_random: Random, name: string): string | undefined {
  const { core, form } = partsOf(name)
  return form === undefined ? undefined : core
}

/** A legal form of another class, so the name identifies no company. */
export function formWrong(random: Random, name: string): string | undefined {
  const { core, form } = partsOf(name)
  if (form === undefined) return undefined
  const others = Object.entries(WRITTEN).filter(([other]) => other !== form)
  const [, written] = pick(random, others)
  return joined({ core, surface: pick(random, written) })
}

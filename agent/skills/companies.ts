/** Answers what operations ask from the dataset and, on testnet, the synthetic company. */
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'
import { candidateByNumber } from '../search/by-number.ts'
import { decideStatus } from '../search/decide.ts'
import { findInRegisters } from '../search/find-in-registers.ts'
import type {
  Companies,
  Decision,
  FoundCompany,
  Identification,
  Provenance,
  RankedCompanies,
} from '../operation/companies.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../operation/matching-version.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import type { Candidate } from '../operation/result.ts'
import {
  datasetProvenance,
  isSynthetic,
  openRegisters,
  provenanceOf,
  SYNTHETIC_PROVENANCE,
  SYNTHETIC_REGISTER,
  type SkillContext,
} from './registers.ts'

const NO_DATASET = refused({ code: 'dataset_unavailable' })
const TOO_BROAD = refused({ code: 'query_too_broad' })

export function openCompanies(context: SkillContext): Companies {
  const { dataset, now } = context
  return {
    get: (number) => getCompany(number, context),
    rank({ limit, ...query }) {
      if (!dataset) return NO_DATASET
      const found = findInRegisters(openRegisters(dataset, context), { ...query, fuzzy: 'always' }, now)
      if (found.kind === 'too_broad') return TOO_BROAD
      const candidates = found.candidates.slice(0, limit)
      return { kind: 'ranked', ...ranked(candidates, provenanceOf(candidates, dataset), found.isTruncated) }
    },
    identify: (given) =>
      given.company_number === undefined
        ? identifyName(given, context)
        : identifyNumber(given, given.company_number, context),
  }
}

/** The synthetic company needs no dataset. */
function getCompany(number: string, context: SkillContext): FoundCompany | Refused {
  if (isSynthetic(number, context)) return { kind: 'found', company: SYNTHETIC_COMPANY, ...SYNTHETIC_PROVENANCE }
  const { dataset } = context
  if (!dataset) return NO_DATASET
  const provenance = datasetProvenance(dataset)
  const entry = dataset.snapshot.find(number)
  if (entry === undefined) return refused({ code: 'company_not_found', provenance })
  if (entry === 'quarantined') return refused({ code: 'source_data_conflict', provenance })
  return { kind: 'found', company: entry, ...provenance }
}

/** An explicit number selects its record. */
function identifyNumber(given: Identification, number: string, context: SkillContext): Decision | Refused {
  const found = getCompany(number, context)
  if (found.kind === 'refused') return found
  const { company, source, snapshot_id } = found
  const candidate = candidateByNumber(company, given, registersOf(company, context))
  return decided([candidate], { source, snapshot_id })
}

function registersOf(company: FoundCompany['company'], context: SkillContext) {
  if (company === SYNTHETIC_COMPANY || !context.dataset)
    return { register: SYNTHETIC_REGISTER, registers: [SYNTHETIC_REGISTER] }
  const registers = openRegisters(context.dataset, context)
  return { register: registers[0], registers }
}

function identifyName({ name, eircode, address }: Identification, context: SkillContext): Decision | Refused {
  const { dataset, now } = context
  if (!dataset) return NO_DATASET
  if (name === undefined) throw new Error('The input schema requires a name or a number')
  const query = { name, eircode, address, fuzzy: 'without_exact' } as const
  const found = findInRegisters(openRegisters(dataset, context), query, now)
  if (found.kind === 'too_broad') return TOO_BROAD
  return decided(found.candidates, provenanceOf(found.candidates, dataset), found.isTruncated)
}

function decided(candidates: readonly Candidate[], provenance: Provenance, isTruncated = false): Decision {
  const status = decideStatus(candidates, { isTruncated })
  return { kind: 'decided', status, ...ranked(candidates, provenance, isTruncated) }
}

function ranked(
  candidates: readonly Candidate[],
  provenance: Provenance,
  isTruncated: boolean,
): Omit<RankedCompanies, 'kind'> {
  return {
    candidates,
    candidate_limit_reached: isTruncated,
    matching_version: MATCHING_VERSION,
    score_definition: SCORE_DEFINITION,
    ...provenance,
  }
}

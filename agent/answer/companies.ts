/** Answers what operations ask from the dataset and, on testnet, the synthetic company. */
import type { Company } from '../../store/dataset/company.ts'
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'
import { candidateByNumber } from './search/by-number.ts'
import { decideStatus } from './search/decide.ts'
import { findInRegisters, type CompanyQuery } from './search/find-companies.ts'
import { MATCHING_VERSION, SCORE_DEFINITION, type Candidate } from '../operation/result.ts'
import { refused } from '../operation/outcome.ts'
import type { Registers } from '../operation/registers.ts'
import {
  datasetProvenance,
  isSynthetic,
  listStatuses,
  openRegisters,
  provenanceOf,
  SYNTHETIC_PROVENANCE,
  SYNTHETIC_REGISTER,
  type SkillContext,
} from './registers.ts'

const NO_DATASET = refused({ code: 'dataset_unavailable' })

export function openCompanies(context: SkillContext): Pick<Registers, 'get' | 'rank' | 'identify' | 'statuses'> {
  return {
    get: (number) => getCompany(number, context),
    statuses: () => listStatuses(context),
    rank: ({ limit, ...query }) => findByName({ ...query, fuzzy: 'always' }, context, limit),
    identify(given) {
      const { name, company_number: number, ...evidence } = given
      if (number !== undefined) return identifyNumber(given, number, context)
      if (name === undefined) throw new Error('The input schema requires a name or a number')
      const found = findByName({ name, ...evidence, fuzzy: 'without_exact' }, context)
      return found.kind === 'refused' ? found : decided(found.answer)
    },
  }
}

/** The synthetic company needs no dataset. */
function getCompany(number: string, context: SkillContext): ReturnType<Registers['get']> {
  if (isSynthetic(number, context))
    return { kind: 'computed', answer: { company: SYNTHETIC_COMPANY, ...SYNTHETIC_PROVENANCE } }
  const { dataset } = context
  if (!dataset) return NO_DATASET
  const provenance = datasetProvenance(dataset)
  const entry = dataset.snapshot.find(number)
  if (entry === undefined) return refused({ code: 'company_not_found', provenance })
  if (entry === 'quarantined') return refused({ code: 'source_data_conflict', provenance })
  return { kind: 'computed', answer: { company: entry, ...provenance } }
}

function findByName(query: CompanyQuery, context: SkillContext, limit?: number): ReturnType<Registers['rank']> {
  const { dataset, now } = context
  if (!dataset) return NO_DATASET
  const found = findInRegisters(openRegisters(dataset, context), query, now)
  if (found.kind === 'too_broad') return refused({ code: 'query_too_broad' })
  const candidates = found.candidates.slice(0, limit)
  return {
    kind: 'computed',
    answer: { ...ranked(candidates, found.isTruncated), ...provenanceOf(candidates, dataset) },
  }
}

/** An explicit number selects its record. */
function identifyNumber(
  given: Parameters<Registers['identify']>[0],
  number: string,
  context: SkillContext,
): ReturnType<Registers['identify']> {
  const found = getCompany(number, context)
  if (found.kind === 'refused') return found
  const { company, ...provenance } = found.answer
  const candidate = candidateByNumber(company, given, registersOf(company, context))
  return decided({ ...ranked([candidate], false), ...provenance })
}

function registersOf(company: Company, context: SkillContext) {
  if (company === SYNTHETIC_COMPANY || !context.dataset)
    return { register: SYNTHETIC_REGISTER, registers: [SYNTHETIC_REGISTER] }
  const registers = openRegisters(context.dataset, context)
  return { register: registers[0], registers }
}

function decided<Ranking extends ReturnType<typeof ranked>>(ranking: Ranking) {
  const status = decideStatus(ranking.candidates, { isTruncated: ranking.candidate_limit_reached })
  return { kind: 'computed' as const, answer: { status, ...ranking } }
}

function ranked(candidates: Candidate[], isTruncated: boolean) {
  return {
    candidates,
    candidate_limit_reached: isTruncated,
    matching_version: MATCHING_VERSION,
    score_definition: SCORE_DEFINITION,
  }
}

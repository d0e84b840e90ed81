/** Answers lookups, searches and resolutions from the dataset and, on testnet, about the synthetic company. */
import { isDeepStrictEqual } from 'node:util'
import { parseName } from '../../store/index/normalise-name.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { candidateByNumber } from './search/by-number.ts'
import { findInRegisters, type CompanyQuery } from './search/find-companies.ts'
import { findPast } from './past.ts'
import { explainResolution, explainSearch } from './explain.ts'
import type { Register } from './search/register.ts'
import type { lookup } from '../operation/lookup.ts'
import {
  MATCH_MARGIN_MIN,
  MATCH_SCORE_MIN,
  MATCHING_VERSION,
  SCORE_DEFINITION,
  type Candidate,
} from '../operation/result.ts'
import { refused } from '../operation/outcome.ts'
import { NEXT_OF_CASE, type Refusal } from '../operation/refusal.ts'
import { matchOf, type resolve, type ResolveResponse } from '../operation/resolve.ts'
import type { search } from '../operation/search.ts'
import {
  datasetProvenance,
  ifReadable,
  isSynthetic,
  openRegisters,
  provenanceOf,
  SYNTHETIC_REGISTER,
  type AnswerFunction,
  type AnswerContext,
} from './registers.ts'

const NO_DATASET = refused({ code: 'dataset_unavailable' })

/** The synthetic company needs no dataset. */
export const answerLookup: AnswerFunction<typeof lookup> = ({ company_number: number }, context) => {
  if (isSynthetic(number, context))
    return { kind: 'computed', answer: { company: SYNTHETIC_COMPANY, ...SYNTHETIC_PROVENANCE } }
  const { dataset } = context
  if (!dataset) return NO_DATASET
  const provenance = datasetProvenance(dataset)
  const entry = dataset.snapshot.find(number)
  if (entry === undefined) return refused({ code: 'company_not_found', ...lastFile(number, context), provenance })
  if (entry === 'quarantined') return refused({ code: 'source_data_conflict', provenance })
  return { kind: 'computed', answer: { company: entry, ...provenance } }
}

/** The last day of a recorded file with the number, without its name. Nothing while the journal cannot be read. */
function lastFile(number: string, { journal }: AnswerContext): Pick<Refusal, 'detail' | 'next'> {
  return (
    ifReadable(() => {
      for (const { entry, lastSeen } of journal().versions(number))
        if (typeof entry === 'object' && lastSeen)
          return {
            detail: `the last recorded file with it is of ${lastSeen.date}`,
            next: NEXT_OF_CASE.company_not_found,
          }
      return undefined
    }) ?? {}
  )
}

export const answerSearch: AnswerFunction<typeof search> = ({ q, limit, ...filters }, context) => {
  const found = findByName({ name: q, ...filters, fuzzy: 'always' }, context, limit)
  if (found.kind === 'refused') return found
  const hasFilters = (filters.status ?? filters.eircode) !== undefined
  const explained = explainSearch(found.answer, limit)
  return {
    kind: 'computed',
    answer: { query: { q, limit }, ...(hasFilters && { filters }), ...explained, ...found.answer },
  }
}

export const answerResolve: AnswerFunction<typeof resolve> = (query, context) => {
  const found = findIdentified(query, context)
  if (found.kind === 'refused') return found
  const { candidate_limit_reached: isTruncated } = found.answer
  const { candidates, namesakes } = splitNamesakes(found.answer.candidates)
  if (candidates.length === 0 && query.eircode !== undefined && query.name !== undefined)
    return withEircodeOnly({ ...query, name: query.name, eircode: query.eircode }, found.answer, context)
  const status = decideStatus(candidates, { isTruncated })
  return withExplanation(query, { ...found.answer, candidates, status }, { namesakes }, context)
}

/** The answer with what it says of itself. */
function withExplanation(
  query: ResolveInput,
  decided: Pick<ResolveResponse, 'status'> & ReturnType<typeof ranked> & ReturnType<typeof provenanceOf>,
  { namesakes = [], search }: { namesakes?: readonly Candidate[]; search?: () => readonly Candidate[] | undefined },
  context: AnswerContext,
): ReturnType<typeof answerResolve> {
  const { status, ...answer } = decided
  const { candidates } = answer
  const registers = registersFor(query, context)
  const searchName = () => {
    const found = findInRegisters(registers, { name: query.name ?? '', fuzzy: 'always' }, context.now)
    return found.kind === 'found' ? found.candidates : undefined
  }
  const explanation = explainResolution({ query, ...decided }, { namesakes, registers, search: search ?? searchName })
  const match = matchOf({ status, candidates })
  return {
    kind: 'computed',
    answer: { status, match, query, ...explanation, past: findPast(query, context), ...answer },
  }
}

/**
 * If the first candidate has the given Eircode, companies of the same name with another Eircode are no candidates
 * (contract 12.12).
 */
export function splitNamesakes([first, ...others]: readonly Candidate[]): {
  candidates: Candidate[]
  namesakes: Candidate[]
} {
  if (first === undefined) return { candidates: [], namesakes: [] }
  const isSame = ({ legal_name: name }: Candidate['company']) =>
    isDeepStrictEqual(parseName(name), parseName(first.company.legal_name))
  const eircodeOf = ({ company }: Candidate) => company.registered_address.eircode?.replaceAll(' ', '')
  const isNamesake = (each: Candidate) =>
    first.signals.eircode_exact === true &&
    eircodeOf(each) !== undefined &&
    eircodeOf(each) !== eircodeOf(first) &&
    isSame(each.company)
  return {
    candidates: [first, ...others.filter((each) => !isNamesake(each))],
    namesakes: others.filter(isNamesake),
  }
}

/** Without a candidate: those of a search that have the given Eircode (contract 12.3). */
function withEircodeOnly(
  query: ResolveInput & { name: string; eircode: string },
  none: ReturnType<typeof ranked> & ReturnType<typeof provenanceOf>,
  context: AnswerContext,
): ReturnType<typeof answerResolve> {
  const { name, eircode } = query
  const found = findByName({ name, eircode, address: query.address, fuzzy: 'always' }, context)
  const answer = found.kind === 'refused' ? none : found.answer
  const candidates = answer.candidates.filter(({ signals }) => signals.eircode_exact === true)
  if (candidates.length > 0) return withExplanation(query, { ...answer, candidates, status: 'ambiguous' }, {}, context)
  const search = () => (found.kind === 'refused' ? undefined : found.answer.candidates)
  return withExplanation(query, { ...none, status: 'no_match' }, { search }, context)
}

type ResolveInput = Parameters<typeof answerResolve>[0]

/** An explicit number selects its record. */
function findIdentified(given: ResolveInput, context: AnswerContext): ReturnType<typeof findByName> {
  const { name, company_number, ...evidence } = given
  if (company_number === undefined) {
    if (name === undefined) throw new Error('The input schema requires a name or a number')
    return findByName({ name, ...evidence, fuzzy: 'without_exact' }, context)
  }
  const found = answerLookup({ company_number }, context)
  if (found.kind === 'refused') return found
  const { company, ...provenance } = found.answer
  const candidate = candidateByNumber(company, given, registersFor(given, context))
  return { kind: 'computed', answer: { ...ranked([candidate], false), ...provenance } }
}

/** The synthetic company needs no dataset. */
function registersFor({ company_number }: ResolveInput, context: AnswerContext): readonly [Register, ...Register[]] {
  const { dataset } = context
  return dataset && !isSynthetic(company_number, context) ? openRegisters(dataset, context) : [SYNTHETIC_REGISTER]
}

function findByName(query: CompanyQuery, context: AnswerContext, limit?: number) {
  const { dataset, now } = context
  if (!dataset) return NO_DATASET
  const found = findInRegisters(openRegisters(dataset, context), query, now)
  if (found.kind === 'too_broad') return refused({ code: 'query_too_broad' })
  const candidates = found.candidates.slice(0, limit)
  const answer = { ...ranked(candidates, found.isTruncated), ...provenanceOf(candidates, dataset) }
  return { kind: 'computed', answer } as const
}

function ranked(candidates: Candidate[], isTruncated: boolean) {
  return {
    candidates,
    candidate_limit_reached: isTruncated,
    matching_version: MATCHING_VERSION,
    score_definition: SCORE_DEFINITION,
  }
}

/** Expects the candidates in descending order of score. The first rule that applies decides. */
export function decideStatus(
  [first, second]: readonly Candidate[],
  { isTruncated }: { isTruncated: boolean },
): ResolveResponse['status'] {
  if (first === undefined) return 'no_match'
  if (isTruncated) return 'ambiguous'
  if (first.conflicts.length > 0) return 'conflicting'
  if (first.score < MATCH_SCORE_MIN) return 'ambiguous'
  if (second !== undefined && first.score - second.score < MATCH_MARGIN_MIN) return 'ambiguous'
  return 'matched'
}

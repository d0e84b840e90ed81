/**
 * `npm run bench -- quality [--dataset FILE | --rows N] [--samples N] [--half tuning|report] [--debug FILE]`:
 * measures the accuracy of search and resolve on changed names, and fails when a target of docs/accuracy.md is missed.
 */
import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { MATCHING_VERSION } from '../../agent/operation/result.ts'
import { openBenchRegister } from './generated-register.ts'
import { evaluate } from './quality/evaluate.ts'
import { halfOf, makeQuestions } from './quality/questions.ts'
import { drawSample } from './quality/sample.ts'
import { classTable, failures, scoreTable } from './quality/table.ts'
import { accuracyTargets } from './quality/tally.ts'
import { allMet, describeMachine, print, targetTable } from './report.ts'

const SAMPLES_DEFAULT = '5000'
const SEED = 1
/** Removed companies per sampled company. */
const REMOVALS_RATIO = 0.2

export async function quality(options: Record<string, string>): Promise<boolean> {
  const { dataset, rows = '100000', samples = SAMPLES_DEFAULT, half = 'report', debug } = options
  const size = Number(samples)
  const removals = Math.ceil(size * REMOVALS_RATIO)
  await using opened = await openBenchRegister({ dataset, rows: Number(rows), seed: SEED, removals })
  const { register, removed, context } = opened
  const sample = drawSample(register, { size, seed: SEED })
  const all = makeQuestions({ register, sample, removed, seed: SEED })
  const questions = all.filter((question) => halfOf(question, SEED) === half)
  const evaluations = questions.map((question) => evaluate(question, context))
  const targets = accuracyTargets(evaluations)
  print(`# Accuracy in ${dataset === undefined ? 'a made-up register' : 'a published register'}

${describeMachine()}

- Register: ${dataset === undefined ? 'made up' : basename(dataset)}, ${register.companies.length} companies and ${removals} that are removed.
- Seed ${SEED}; ${sample.length} companies sampled.
- Questions: the ${half} half; the seed assigns each company to the half "tuning" or "report".
- matching_version: ${MATCHING_VERSION}.
- A search result is right when its name cannot be distinguished from the expected one by the query. A match is right only
  for the expected company; in the classes 3b, 13b, 17, 35 to 39b, 42 to 47 and n1 to n8 every match is wrong.
- not recoverable: the names of which the change can leave too little to find them. Short names have fewer than eight letters.
- Removed companies are asked for in every class, and every match is wrong.
- Changed names that are exactly the name of another company are not asked.

${classTable(evaluations)}

The share of right first candidates by score, of questions about registered and removed companies:

${scoreTable(evaluations)}

${targetTable(targets)}`)
  if (debug !== undefined) await writeFile(debug, failures(evaluations))
  return allMet(targets)
}

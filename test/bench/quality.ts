/**
 * `npm run bench -- quality [--data DIR | --rows N] [--samples N] [--seed S] [--half H] [--unlisted FILE] [--peers] [--out FILE]
 * [--debug FILE]`:
 * measures the accuracy of search and resolve on changed names, and fails when a target of docs/accuracy.md is missed.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { openBenchRegister, type BenchRegister } from './bench-register.ts'
import { exhaustiveOf } from './search/exhaustive.ts'
import { loadSearchPeers, productContender } from './search/peers.ts'
import { OMITTED_CLASS } from './quality/classes.ts'
import {
  compare,
  comparedQuestions,
  comparisonByClass,
  comparisonTable,
  comparisonTargets,
} from './quality/comparison.ts'
import { debugText } from './quality/debug.ts'
import { createProduct, type Product } from './quality/product.ts'
import { halfOf, makeQuestions, type Questions } from './quality/questions.ts'
import { drawSample } from './quality/sample.ts'
import { classTable, recoverableNote, sampleNote, uniqueTable } from './quality/table.ts'
import { accuracyTargets } from './quality/tally.ts'
import { allMet, targetTable, type Target } from './markdown.ts'
import { evaluate, type Evaluation } from './quality/evaluate.ts'

const ROWS_DEFAULT = '100000'
const SAMPLES_DEFAULT = '5000'
const SEED_DEFAULT = '1'
const HALF_DEFAULT = 'report'
/** Removed companies per sampled company. */
const REMOVALS_RATIO = 0.2

export async function quality(options: Record<string, string>): Promise<boolean> {
  const { data, rows = ROWS_DEFAULT, samples = SAMPLES_DEFAULT, seed: seedText = SEED_DEFAULT } = options
  const [size, seed] = [Number(samples), Number(seedText)]
  const removals = Math.ceil(size * REMOVALS_RATIO)
  await using opened = await openBenchRegister({ data, rows: Number(rows), seed, removals })
  const sample = drawSample(opened.register, { size, seed })
  const { half = HALF_DEFAULT, unlisted } = options
  const names =
    unlisted === undefined ? [] : (await readFile(unlisted, 'utf8')).split('\n').filter((name) => name !== '')
  const all = makeQuestions({ ...opened, sample, seed, unlisted: names })
  const made = { ...all, questions: all.questions.filter((each) => half === 'all' || halfOf(each, seed) === half) }
  const product = createProduct(opened.context)
  const evaluations = made.questions.map((question) => evaluate(question, product))
  const run = { opened, product, seed, half, ...made, evaluations, sampleNote: sampleNote(sample) }
  const peers = options['peers'] === undefined ? undefined : await peerReport(run)
  const text = report(run) + (peers?.text ?? '')
  process.stdout.write(text)
  if (options['out'] !== undefined) await writeFile(options['out'], text)
  if (options['debug'] !== undefined) await writeFile(options['debug'], debugText(evaluations))
  return allMet([...accuracyTargets(evaluations), ...(peers?.targets ?? [])])
}

interface Run extends Questions {
  opened: BenchRegister
  product: Product
  seed: number
  half: string
  evaluations: readonly Evaluation[]
  sampleNote: string
}

function report({ opened, product, seed, half, evaluations, collisions, sampleNote: sampled }: Run): string {
  const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}`
  return `# Accuracy

Made by \`npm run bench -- quality\` on ${new Date().toISOString().slice(0, 10)}; ${machine}.

- Register: ${opened.description}; the rest is snapshot \`${opened.snapshotId}\`.
- Seed ${seed}; ${sampled}.
- Questions: ${half === 'all' ? 'all' : `the ${half} half; the seed assigns each company to the half "tuning" or "report"`}.
- matching_version: ${product.matchingVersion() ?? 'unknown'}.
- A search result is right when its name cannot be distinguished from the expected one by the query. A match is right only
  for the expected company; in the classes 3b, 13b, 17 and n1 to n8 every match is wrong.
- collisions: changed names that are exactly the name of another company. They are not asked.
- Omitted class: ${OMITTED_CLASS}

${classTable(evaluations, collisions)}

Classes with another notation of the same name, for unique names:

${uniqueTable(evaluations)}

${targetTable(accuracyTargets(evaluations))}

${recoverableNote(evaluations)}
`
}

async function peerReport({ opened, seed, questions }: Run): Promise<{ text: string; targets: Target[] }> {
  const compared = await compare({
    questions: comparedQuestions(questions, seed),
    register: opened.register,
    contenders: [async () => productContender(opened.context), ...(await loadSearchPeers())],
    exhaustive: exhaustiveOf(opened.context),
    onProgress: (name) => process.stderr.write(`${name} ...\n`),
  })
  const targets = comparisonTargets(compared)
  const text = `
## Compared with other search engines

The same names and queries in one run, about the same number of each class. Peers get names without legal form and accents
and use their own ranking. Recall is relative to the ten best names by this service's similarity in an exhaustive scan, so
it shows whether the service overlooks names; top 1 and top 5 compare the engines.

${comparisonTable(compared)}

The share of right first answers by class. Parts of names, s1 to s5, have several right answers:

${comparisonByClass(compared)}

${targetTable(targets)}
`
  return { text, targets }
}

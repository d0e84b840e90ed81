/**
 * `npm run bench -- quality [--data DIR | --rows N] [--samples N] [--seed S] [--half H] [--unlisted FILE] [--peers]
 * [--debug FILE] [--removals N] [--classes ID,...]`:
 * measures the accuracy of search and resolve on changed names, and fails when a target of docs/accuracy.md is missed.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { openBenchRegister, type BenchRegister } from './bench-register.ts'
import { loadSearchPeers, productContender } from './search/peers.ts'
import { calibrationTable } from './quality/calibration.ts'
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
import { drawAll, drawSample } from './quality/sample.ts'
import { classTable, recoverableNote, removedTable, sampleNote, uniqueTable } from './quality/table.ts'
import { accuracyTargets, byPresence } from './quality/tally.ts'
import { allMet, targetTable, type Target } from './markdown.ts'
import { evaluate, type Evaluation } from './quality/evaluate.ts'

const ROWS_DEFAULT = '100000'
const SAMPLES_DEFAULT = '5000'
const SEED_DEFAULT = '1'
const HALF_DEFAULT = 'report'
/** Removed companies per sampled company, unless a number is given. */
const REMOVALS_RATIO = 0.2

export async function quality(options: Record<string, string>): Promise<boolean> {
  const { data, rows = ROWS_DEFAULT, samples = SAMPLES_DEFAULT, seed: seedText = SEED_DEFAULT } = options
  const [size, seed] = [Number(samples), Number(seedText)]
  const removals = Number(options['removals'] ?? Math.ceil(size * REMOVALS_RATIO))
  await using opened = await openBenchRegister({ data, rows: Number(rows), seed, removals })
  const classes = options['classes'] === undefined ? undefined : new Set(options['classes'].split(','))
  // Few companies have a name that fits a rare class, so single classes draw from the whole register.
  const sample = classes ? drawAll(opened.register, seed) : drawSample(opened.register, { size, seed })
  const { half = HALF_DEFAULT, unlisted } = options
  const names =
    unlisted === undefined ? [] : (await readFile(unlisted, 'utf8')).split('\n').filter((name) => name !== '')
  const limits = classes ? { classes, classMax: size } : {}
  const all = makeQuestions({ ...opened, sample, seed, unlisted: names, ...limits })
  const made = { ...all, questions: all.questions.filter((each) => half === 'all' || halfOf(each, seed) === half) }
  const product = createProduct(opened.context)
  const evaluations = made.questions.map((question) => evaluate(question, product))
  const run = { opened, product, seed, half, classes, ...made, evaluations, sampleNote: sampleNote(sample) }
  const peers = options['peers'] === undefined ? undefined : await peerReport(run)
  const text = report(run) + (peers?.text ?? '')
  process.stdout.write(text)
  if (options['debug'] !== undefined) await writeFile(options['debug'], debugText(evaluations))
  return allMet([...accuracyTargets(evaluations), ...(peers?.targets ?? [])])
}

interface Run extends Questions {
  opened: BenchRegister
  product: Product
  seed: number
  half: string
  classes: ReadonlySet<string> | undefined
  evaluations: readonly Evaluation[]
  sampleNote: string
}

function report({ opened, product, seed, half, evaluations, collisions, sampleNote: sampled }: Run): string {
  const { present, removed } = byPresence(evaluations)
  const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}`
  return `# Accuracy

Made by \`npm run bench -- quality\` on ${new Date().toISOString().slice(0, 10)}; ${machine}.

- Register: ${opened.description}; the rest is snapshot \`${opened.snapshotId}\`.
- Seed ${seed}; ${sampled}.
- Questions: ${half === 'all' ? 'all' : `the ${half} half; the seed assigns each company to the half "tuning" or "report"`}.
- matching_version: ${product.matchingVersion() ?? 'unknown'}.
- A search result is right when its name cannot be distinguished from the expected one by the query. A match is right only
  for the expected company; in the classes 3b, 13b, 17 and n1 to n8 every match is wrong.
- Removed companies are asked for in every class, and every match is wrong.
- collisions: changed names that are exactly the name of another company. They are not asked.
- Omitted class: ${OMITTED_CLASS}

${classTable(present, collisions)}

Removed from the register:

${removedTable(removed)}

Classes with another notation of the same name, for unique names:

${uniqueTable(evaluations)}

The share of right first candidates by score, of questions about registered and removed companies:

${calibrationTable(evaluations)}

${targetTable(accuracyTargets(evaluations))}

${recoverableNote(evaluations)}
`
}

async function peerReport({ opened, seed, questions }: Run): Promise<{ text: string; targets: Target[] }> {
  const contenders = [async () => productContender(opened.context), ...(await loadSearchPeers())]
  const compared = await compare(comparedQuestions(questions, seed), opened.register, contenders)
  const targets = comparisonTargets(compared)
  const text = `
## Compared with other search engines

The same names and queries in one run. Peers get names without legal form and accents and use their own ranking.

${comparisonTable(compared)}

The share of right first answers by class. Parts of names, s1 to s6, have several right answers:

${comparisonByClass(compared)}

${targetTable(targets)}
`
  return { text, targets }
}

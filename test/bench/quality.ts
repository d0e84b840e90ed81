/**
 * `npm run bench -- quality [--data DIR | --rows N] [--samples N] [--seed S] [--peers] [--out FILE] [--debug FILE]`: how
 * often a company is found by a name that is slightly wrong, and how often the wrong one is given for it. Fails when a
 * target is missed.
 */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { openBenchRegister, type BenchRegister } from './bench-register.ts'
import { exhaustiveOf } from './peers/exhaustive.ts'
import { PEERS, productContender } from './peers/peers.ts'
import { LEFT_OUT } from './quality/classes.ts'
import { compare, comparedQuestions, comparisonTable } from './quality/comparison.ts'
import { debugText } from './quality/debug.ts'
import { productOf, type Product } from './quality/product.ts'
import { makeQuestions, type Questions } from './quality/questions.ts'
import { drawSample } from './quality/sample.ts'
import { classTable, recoverableNote, sampleNote, uniqueTable } from './quality/table.ts'
import { accuracyTargets } from './quality/tally.ts'
import { allMet, targetTable } from './targets.ts'
import { judge, type Verdict } from './quality/verdicts.ts'

const ROWS_DEFAULT = '100000'
const SAMPLES_DEFAULT = '5000'
const SEED_DEFAULT = '1'
/** For each company sampled: enough names of removed companies to see one in a thousand. */
const REMOVALS_RATIO = 0.2

export async function quality(options: Record<string, string>): Promise<boolean> {
  const { data, rows = ROWS_DEFAULT, samples = SAMPLES_DEFAULT, seed: seedText = SEED_DEFAULT } = options
  const [size, seed] = [Number(samples), Number(seedText)]
  const removals = Math.ceil(size * REMOVALS_RATIO)
  const opened = await openBenchRegister({ data, rows: Number(rows), seed, removals })
  try {
    const sample = drawSample(opened.register, { size, seed })
    const asked = makeQuestions({ ...opened, sample, seed })
    const product = productOf(opened.shelf)
    const verdicts = asked.questions.map((question) => judge(question, product))
    const run = { opened, product, seed, ...asked, verdicts, sampleNote: sampleNote(sample) }
    const text = report(run) + (options['peers'] === undefined ? '' : await peerReport(run))
    process.stdout.write(text)
    if (options['out'] !== undefined) await writeFile(options['out'], text)
    if (options['debug'] !== undefined) await writeFile(options['debug'], debugText(verdicts))
    return allMet(accuracyTargets(verdicts))
  } finally {
    await opened.close()
  }
}

interface Run extends Questions {
  opened: BenchRegister
  product: Product
  seed: number
  verdicts: readonly Verdict[]
  sampleNote: string
}

function report({ opened, product, seed, verdicts, namingAnother, sampleNote: sampled }: Run): string {
  const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}`
  return `# Accuracy

Made by \`npm run bench -- quality\` on ${new Date().toISOString().slice(0, 10)}; ${machine}.

- Register: ${opened.description}; what was left is snapshot \`${opened.snapshotId}\`.
- Seed ${seed}; ${sampled}.
- matching_version: ${product.matchingVersion() ?? 'no answer stated one'}.
- A search is right at the first candidate that nobody could tell from the meant company by the query. A match is right only
  for the meant company itself; in the classes 3b, 13b, 17 and n1 to n5 every match is wrong.
- "names another": left out, because the name as asked is exactly that of another company.
- Left out: ${LEFT_OUT}

${classTable(verdicts, namingAnother)}

Classes that write the same name in other signs, where one company has it:

${uniqueTable(verdicts)}

${targetTable(accuracyTargets(verdicts))}

${recoverableNote(verdicts)}
`
}

async function peerReport({ opened, seed, questions }: Run): Promise<string> {
  const compared = await compare({
    questions: comparedQuestions(questions, seed),
    register: opened.register,
    contenders: [async () => productContender(opened.shelf), ...PEERS],
    exhaustive: exhaustiveOf(opened.shelf),
    onProgress: (name) => process.stdout.write(`${name} ...\n`),
  })
  return `
## Beside others

The same names and queries in one run, as many of each class as of the others. Peers are given names without legal form
and marks, and put their own ranking. Recall is of the ten best by this service's own similarity, every name measured.
That measure is foreign to the peers. Recall tells whether this service overlooks a name; top 1 and top 5 compare.

${comparisonTable(compared)}
`
}

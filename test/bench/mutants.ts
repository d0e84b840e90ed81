/**
 * `bench mutants [--workers N] [--only TEXT] [--sample N]`: puts one seeded bug at a time into a source file, compiles
 * it into a copy of the compiled tree, and runs what must fail: a test file, or a program of `bench` without one.
 * Fails if one is not caught.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { chosenByCommit } from './commit.ts'
import { MUTANTS, type Mutant } from './mutants/list.ts'
import { print } from './report.ts'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const PROGRAM_MS_MAX = 600_000
/** Of a test that sets no time of its own. One that takes longer has caught the bug, so it is far above their 7 s. */
const TEST_MS_MAX = 20_000
/** A program is random. It is run at most this often until it shows the seeded bug. */
const RUNS_MAX = 3
/** Folders that are linked into the copy: tests read fixtures and contracts from the sources. */
const LINKED = ['node_modules', 'docs', 'agent', 'test']
/** The compiled folders of the simulation and the service. */
const FOLDERS = ['agent', 'base', 'buyer', 'keys', 'operator', 'page', 'rest-facade', 'store', 'test']

interface Verdict {
  verdict: 'caught' | 'NOT CAUGHT' | 'NOT TRIED'
  what: string
}

/** Whether a program of `bench` must find the bug, and no test file. */
export const isProgram = ({ caughtBy }: Mutant) => !caughtBy.startsWith('test/')

/** `only` selects the mutants whose name or program contains a text. `sample`: so many, which the commit chooses. */
export async function mutants(options: Record<string, string>): Promise<boolean> {
  const { workers = '1', only = '', sample } = options
  const named = MUTANTS.filter(({ name, caughtBy }) => `${name} ${caughtBy}`.includes(only))
  const nameOf = ({ name }: Mutant) => name
  const chosen = sample === undefined ? named : chosenByCommit(named, { count: Number(sample), nameOf })
  if (chosen.length === 0) throw new Error(`No mutant has the text of --only ${only}`)
  // Hard links need the file system of the originals.
  const directory = await mkdtemp(join(ROOT, 'dist/mutants-'))
  try {
    const verdicts: Verdict[] = []
    const inTurn = async (queue: Mutant[]) => {
      for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
        const began = performance.now()
        const copy = join(directory, String(MUTANTS.indexOf(mutant)))
        const found = await tryOne(mutant, copy)
        verdicts.push(found)
        const seconds = `${Math.round((performance.now() - began) / 1000)} s`
        print(`${found.verdict.padEnd(10)}  ${seconds.padStart(5)}  ${mutant.name.padEnd(64)} ${found.what}`)
      }
    }
    // A program uses all cores. One of them runs at a time.
    const tests = chosen.filter((mutant) => !isProgram(mutant))
    const others = chosen.filter(isProgram)
    const testsBeside = Array.from({ length: Number(workers) - 1 }, () => inTurn(tests))
    await Promise.all([inTurn(others).then(() => inTurn(tests)), ...testsBeside])
    const countOf = (wanted: Verdict['verdict']) => verdicts.filter(({ verdict }) => verdict === wanted).length
    print(`${countOf('caught')} of ${chosen.length} mutants caught, ${countOf('NOT TRIED')} not tried`)
    return countOf('NOT CAUGHT') === 0
  } finally {
    // After an error of one worker, the other one can still write into it.
    await rm(directory, { recursive: true, maxRetries: 5 })
  }
}

/** @returns the text with the bug; undefined unless it has the text to replace exactly once */
export function mutate(text: string, { find, replace }: Mutant): string | undefined {
  const words = find.split(/\s+/).map((word) => word.replace(/[^\w]/g, '\\$&'))
  const found = [...text.matchAll(new RegExp(words.join('\\s+'), 'g'))]
  if (found.length !== 1) return undefined
  return text.replace(found[0]?.[0] ?? '', () => replace)
}

const compiledName = (file: string) => file.replace(/\.ts$/, '.js')

/** As tsc does it: without types, and with imports of compiled files. */
export async function compile(source: string): Promise<string> {
  const { code } = await transform(source, { loader: 'ts', target: 'node20' })
  return code.replaceAll(/(?<=\bfrom "\.[^"]*|\bimport\("\.[^"]*)\.ts(?=")/g, '.js')
}

const missed = (what: string): Verdict => ({ verdict: 'NOT CAUGHT', what })

async function tryOne(mutant: Mutant, copy: string): Promise<Verdict> {
  await mkdir(copy)
  await cp(join(ROOT, 'package.json'), join(copy, 'package.json'))
  for (const folder of LINKED) await symlink(join(ROOT, folder), join(copy, folder))
  await mkdir(join(copy, 'dist'))
  const folders = FOLDERS.map((folder) => join(ROOT, 'dist', folder))
  await promisify(execFile)('cp', ['--recursive', '--link', ...folders, join(copy, 'dist')])
  const mutated = mutate(await readFile(join(ROOT, mutant.file), 'utf8'), mutant)
  if (mutated === undefined) return missed(`does not apply to ${mutant.file}`)
  const path = join(copy, 'dist', compiledName(mutant.file))
  // The original has the same inode.
  await rm(path)
  await writeFile(path, await compile(mutated))
  return isProgram(mutant) ? tryProgram(copy, mutant.caughtBy) : tryTests(copy, mutant.caughtBy)
}

/** The last line of a program names the number of faults. An argument with spaces is in quotes. */
async function tryProgram(copy: string, caughtBy: string): Promise<Verdict> {
  const args = Array.from(caughtBy.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, word]) => quoted ?? word ?? '')
  for (let runs = 0; runs < RUNS_MAX; runs += 1) {
    const { output, status } = await runNode(copy, [join(copy, 'dist/test/bench/main.js'), ...args])
    const [line = ''] = output.trim().split('\n').slice(-1)
    if (line.startsWith('SKIPPED')) return { verdict: 'NOT TRIED', what: line }
    if (status !== 0 && line !== '') return { verdict: 'caught', what: line }
  }
  return missed(`by ${RUNS_MAX} runs of ${caughtBy}`)
}

async function tryTests(copy: string, caughtBy: string): Promise<Verdict> {
  const [path = '', title = ''] = caughtBy.split(': ')
  return (await runTests(copy, path, title)) ?? missed(`by ${caughtBy}`)
}

/**
 * Ends at the first failed test, also if the bug leaves work behind that never ends. Mocha's exit status is null after
 * the time limit.
 * @returns undefined if no test with the title failed
 */
async function runTests(copy: string, path: string, title: string): Promise<Verdict | undefined> {
  const mocha = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'))
  const options = ['--no-parallel', '--bail', '--exit', '--reporter', 'dot', '--timeout', String(TEST_MS_MAX)]
  const { output, status } = await runNode(copy, [
    mocha,
    ...options,
    '--fgrep',
    title,
    join('dist', compiledName(path)),
  ])
  if (status === null || status === 0) return undefined
  const [, failed = ''] = /^ +1\) (.*?):\n/ms.exec(output) ?? []
  return { verdict: 'caught', what: `${path}: ${failed.replaceAll(/\s+/g, ' ')}` }
}

async function runNode(cwd: string, args: string[]): Promise<{ output: string; status: number | null }> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'], timeout: PROGRAM_MS_MAX })
  const [output, [status]] = await Promise.all([readText(child.stdout), once(child, 'exit')])
  return { output, status: status as number | null }
}

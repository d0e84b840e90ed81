/**
 * Runs the `sh` blocks of a document in a fresh copy of the repository, and compares stdout with the `text` block that
 * follows. A comment before a block marks it: `not run: REASON`, `background`, or `exit: STATUS`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from './cli.ts'
import { freePort } from './listen.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const BLOCK_MS_MAX = 120_000
/** The port of the sandbox in the documents. */
const DOCUMENTED = '127.0.0.1:4021'
const STARTED = '--started--'
const ANSWERS = 'y\n'.repeat(20)

export interface Block {
  line: number
  script: string
  /** What stdout shows. Undefined if the document does not say it. */
  output: string | undefined
  mark: { kind: 'run'; status: number } | { kind: 'not run'; reason: string } | { kind: 'background' }
}

/** The `sh` blocks, without their indentation. */
export function readBlocks(markdown: string): Block[] {
  const fence = /(?:^[ \t]*<!-- (.+?) -->\n\s*)?^([ \t]*)```sh\n([^]*?)^\2```\n(?:\s*^\2```text\n([^]*?)^\2```)?/gm
  return Array.from(
    markdown.matchAll(fence),
    ({ index, 0: all, 1: mark, 2: indent = '', 3: script = '', 4: output }) => {
      const unindent = (text: string) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
      const line = markdown.slice(0, index + all.indexOf('```sh')).split('\n').length
      return { line, script: unindent(script), output: output && unindent(output), mark: toMark(mark) }
    },
  )
}

function toMark(comment = ''): Block['mark'] {
  const [, reason] = /^not run: (.+)/.exec(comment) ?? []
  if (reason !== undefined) return { kind: 'not run', reason }
  if (comment === 'background') return { kind: 'background' }
  return { kind: 'run', status: Number(/^exit: (\d+)$/.exec(comment)?.[1] ?? 0) }
}

/** Whether the lines are those of the document, in which `...` stands for any text, and alone for any lines. */
export function isShown(output: string, expected: string): boolean {
  const lines = expected.trimEnd().split('\n')
  const patterns = lines.map((line) => {
    if (line.trim() === '...') return '(?:.*\n)*?'
    return `${line.trimEnd().split('...').map(escapeText).join('.*')}[ \\t]*\n`
  })
  return new RegExp(`^${patterns.join('')}$`).test(`${output.trimEnd()}\n`)
}

const escapeText = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

const PROGRAM = /^(?:irish-company-agent(?:-client)?|agent|node (?:--\S+ )*dist\/agent\/main\.js)(?= |$)/
/** The scripts that pass their arguments on, and the command before these. */
const SCRIPT_COMMANDS: Record<string, string> = { cli: '', client: 'client ', import: 'import ' }
const PATH = /(?<![\w./-])(?:agent|deploy|docs|keys|rest-facade|store|test)\/[\w./*-]*[\w*]/g

/** What a block names that is not there: scripts of package.json, commands, options, and paths of the repository. */
export async function findUnknown(script: string): Promise<string[]> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const text = script.replaceAll('\\\n', ' ').replaceAll(/(^|\s)#.*$/gm, '')
  const unknown = Array.from(text.matchAll(PATH), ([path]) => path.replace(/[^/]*\*.*/, '')).filter(
    (path) => !existsSync(join(ROOT, path)),
  )
  for (const command of text
    .split(/&&|\|\||[;|\n()]|\bexec\b/)
    .map((each) => each.trim().replace(/^(?:[A-Z_]+=\S* +)+/, ''))) {
    const [, name, rest = ''] = /^npm run (?:--\S+ )*([\w-]+)(?: -- (.*))?$/.exec(command) ?? []
    if (name !== undefined && !Object.hasOwn(manifest.scripts, name)) unknown.push(`npm run ${name}`)
    const prefix = name === undefined ? undefined : SCRIPT_COMMANDS[name]
    if (prefix !== undefined) unknown.push(...(await findUnknownWords(`${prefix}${rest}`)))
    else if (PROGRAM.test(command)) unknown.push(...(await findUnknownWords(command.replace(PROGRAM, ''))))
  }
  return unknown
}

async function findUnknownWords(args: string): Promise<string[]> {
  const words = args.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  const path: string[] = []
  const helpOf = async () => (await runCommand([...path, '--help'])).text
  for (const word of words.filter((each) => /^[a-z]/.test(each)))
    if (new RegExp(`(?:^  |^More: [^.]*)${word}[ |\n,.]`, 'm').test((await helpOf()).split('\nCommands:\n')[1] ?? ''))
      path.push(word)
  const [first] = words
  if (path.length === 0 && /^[a-z]/.test(first ?? '')) return [String(first)]
  const help = await helpOf()
  const options = words.flatMap((word) => /^--[a-z][a-z0-9-]*/.exec(word)?.[0] ?? [])
  return options
    .filter((option) => !new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(help))
    .map((option) => [...path, option].join(' '))
}

/** Runs the blocks of a document, in their order. Returns a line for each that does something else than it shows. */
export async function runDocument(markdown: string): Promise<string[]> {
  const blocks = readBlocks(markdown)
  const copy = await copyRepository()
  const port = await freePort()
  const toRun = (script: string) => script.replaceAll('{{base_url}}', `http://${DOCUMENTED}`)
  const session = { copy, port, children: [] as ChildProcess[] }
  const faults: string[] = []
  try {
    if (!blocks.some(({ mark }) => mark.kind === 'background')) await startBackground(session, 'npm start')
    for (const { line, script, output, mark } of blocks) {
      if (mark.kind === 'not run') continue
      if (mark.kind === 'background') {
        await startBackground(session, toRun(script))
        continue
      }
      const { status, stdout, stderr } = await runBlock(session, toRun(script))
      if (status !== mark.status) faults.push(`line ${line} ends with ${status}: ${stderr || stdout}`)
      else if (output !== undefined && !isShown(stdout, toRun(output))) faults.push(`line ${line} shows:\n${stdout}`)
    }
  } finally {
    for (const child of session.children) await stop(child)
    await rm(copy, { recursive: true, force: true, maxRetries: 3 })
  }
  return faults
}

interface Session {
  copy: string
  port: number
  children: ChildProcess[]
}

/** The sources and the compiled files, with the packages of this checkout. */
async function copyRepository(): Promise<string> {
  const copy = join(await makeTemporaryDirectory(), 'clone')
  const left = new Set(['.git', 'node_modules', 'data', 'coverage'])
  await cp(ROOT, copy, { recursive: true, filter: (path) => !left.has(relative(ROOT, path)), preserveTimestamps: true })
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  await writeFile(join(copy, 'dist/.built'), '')
  // The packages are there already.
  await mkdir(join(copy, '.bin'))
  const npm = '#!/bin/sh\n[ "$1" = ci ] || PATH="$NPM_PATH" exec npm "$@"\n'
  await writeFile(join(copy, '.bin/npm'), npm, { mode: 0o755 })
  return copy
}

function start({ copy, port }: Session, program: string, args: readonly string[]) {
  const path = process.env['PATH'] ?? ''
  const child = spawn(program, args, {
    cwd: copy,
    detached: true,
    env: { PATH: `${join(copy, '.bin')}:${path}`, NPM_PATH: path, HOME: copy, PORT: String(port), ADMIN_PORT: 'off' },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
    if (/^ready /m.test(stdout)) child.emit('ready')
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => void (stderr += chunk))
  const shown = () => stdout.replaceAll('\r\n', '\n').replaceAll(`127.0.0.1:${port}`, DOCUMENTED)
  return { child, shown, stderr: () => stderr }
}

const withPort = ({ port }: Session, text: string) => text.replaceAll(DOCUMENTED, `127.0.0.1:${port}`)

async function startBackground(session: Session, script: string): Promise<void> {
  const { child, stderr } = start(session, 'bash', ['-ec', withPort(session, script)])
  session.children.push(child)
  const ended = once(child, 'close').then(() =>
    Promise.reject(new Error(`A block in the background ended: ${stderr()}`)),
  )
  await Promise.race([once(child, 'ready', { signal: AbortSignal.timeout(BLOCK_MS_MAX) }), ended])
  ended.catch(() => undefined)
}

/** `script` makes stdout a terminal, as it is for a reader of the document. Stderr goes to a file. */
async function runBlock(session: Session, script: string) {
  const { copy } = session
  const [block, errors] = [join(copy, '.block.sh'), join(copy, '.block.err')]
  await writeFile(block, withPort(session, script))
  const command = `stty -echo; echo ${STARTED}; exec bash -e ${block} 2>${errors}`
  const { child, shown } = start(session, 'script', ['-qefc', command, '/dev/null'])
  // Before that, the terminal would echo the answers.
  // The program can have ended by then.
  child.stdin.on('error', () => undefined)
  child.stdout.once('data', () => child.stdin.write(ANSWERS))
  const timer = setTimeout(() => void stop(child), BLOCK_MS_MAX)
  const [status] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  return { status, stdout: shown().replace(`${STARTED}\n`, ''), stderr: await readFile(errors, 'utf8').catch(() => '') }
}

/** Ends a process with its children, which are one process group. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  process.kill(-child.pid, 'SIGTERM')
  await ended
}

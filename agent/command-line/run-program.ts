/** Runs a command line: parses the arguments, and maps the result or the error of its command to an exit status. */
import { Command, CommanderError } from 'commander'
import { errorCode } from '../../base/error-code.ts'
import { escapeInvisible, escapeJson } from '../../base/hidden.ts'
import { describeStatuses } from './exit-statuses.ts'
import {
  EXIT_USAGE,
  type AddCommand,
  type CliContext,
  type CommandContext,
  type CommandResult,
  type Failure,
} from './context.ts'
import { readVersion } from './version.ts'

const EXIT_DONE = 0
const EXIT_FAILED = 1
const EXIT_OUTPUT = 5
const CLEAR_LINE = '\r\u001B[K'

interface ProgramDefinition {
  name: string
  description: string
  /** Examples, shown after the list of commands. */
  help: string
  commands: readonly AddCommand[]
  /** The line for an error that a command throws. */
  describeFailure: (error: Error) => string
}

/**
 * Resolves with the exit status. Only the callbacks and the stream of the context are used for output. All printed text
 * is escaped here, because it may come from another party.
 */
export async function runProgram(
  definition: ProgramDefinition,
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  let result: CommandResult = true
  const output = createOutput(args, context)
  const program = createProgram(definition, { ...context, ...output, finish: (value) => (result = value) })
  program.version(await readVersion(), '--version', 'print the version')
  try {
    await program.parseAsync(args, { from: 'user' })
    const failed = await context.flush().then(
      () => undefined,
      (fault: unknown) => errorCode(fault) ?? 'unknown',
    )
    const status = typeof result === 'number' ? result : result ? EXIT_DONE : EXIT_FAILED
    if (failed === undefined || status !== EXIT_DONE) return status
    output.fail({ message: `The output could not be written (${failed}).`, code: 'output_failed' })
    return EXIT_OUTPUT
  } catch (cause) {
    // Commander throws for usage errors, and for --help with exit status 0.
    if (cause instanceof CommanderError) {
      if (cause.exitCode === 0) return EXIT_DONE
      const message = cause.code === 'commander.help' ? 'A command is missing' : cause.message.replace(/^error: /, '')
      if (output.isJson) output.printJson({ error: { code: 'wrong_arguments', message } })
      return EXIT_USAGE
    }
    output.fail({ message: firstLine(cause, definition), code: errorCode(cause) ?? 'command_failed' })
    return EXIT_FAILED
  }
}

/** `--json` and `--quiet` are known before the arguments are parsed, whose faults are reported in the same way. */
function createOutput(args: readonly string[], { print: write, stderr, isErrorTerminal }: CliContext) {
  const end = args.indexOf('--')
  const flags = new Set(end < 0 ? args : args.slice(0, end))
  const isJson = flags.has('--json')
  let hasStatus = false
  const clearStatus = () => {
    if (hasStatus) stderr.write(CLEAR_LINE)
    hasStatus = false
  }
  const print = (line: string) => (clearStatus(), write(escapeInvisible(line)))
  const say = (line: string) => (clearStatus(), void stderr.write(`${escapeInvisible(line)}\n`))
  const note = flags.has('--quiet') ? () => undefined : say
  const printJson = (value: unknown) => JSON.stringify(value, null, 2).split('\n').map(escapeJson).forEach(print)
  const fail = ({ message, code, said, details, isAnswer = false }: Failure) => {
    if (isJson || isAnswer) printJson({ error: { code, message, ...said }, ...details })
    say(message)
  }
  const showStatus = (line: string) => {
    if (!isErrorTerminal || flags.has('--quiet')) return
    stderr.write(`${CLEAR_LINE}${escapeInvisible(line)}`)
    hasStatus = true
  }
  return { isJson, print, note, printJson, fail, showStatus }
}

/** Without stack and causes. An error of a file names the file. */
function firstLine(cause: unknown, { describeFailure }: ProgramDefinition): string {
  if (!(cause instanceof Error)) return 'The command failed for an unknown reason'
  const { path, code, syscall = 'spawn' } = cause as NodeJS.ErrnoException
  if (path !== undefined && !syscall.startsWith('spawn'))
    return `${path} ${code === 'ENOENT' ? 'does not exist' : `cannot be used (${code})`}`
  return describeFailure(cause).split('\n', 1)[0] ?? ''
}

function createProgram({ name, description, help, commands }: ProgramDefinition, context: CommandContext): Command {
  const program = new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => text.trimEnd().split('\n').forEach(context.print),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) =>
        write(`${escapeInvisible(text.trim().replaceAll('\n', ' '))} (add --help for usage)\n`),
    })
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', help)
    .addHelpText('afterAll', ({ command }) => describeStatuses(command))
  for (const addCommand of commands) addCommand(program, context)
  return program
}

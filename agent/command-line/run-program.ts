/** Runs a command line: parses the arguments, and maps the result or the error of its command to an exit status. */
import { Command, CommanderError } from 'commander'
import { errorCode } from '../../store/base/error-code.ts'
import { escapeInvisible } from '../../store/base/hidden.ts'
import { EXIT_USAGE, type AddCommand, type CliContext, type CommandContext, type CommandResult } from './context.ts'
import { readVersion } from './version.ts'

const EXIT_DONE = 0
const EXIT_FAILED = 1
const EXIT_OUTPUT = 5

const EXIT_HELP =
  '\nExit status: 0 done or sold, 1 failed or certainly not sold, 2 wrong arguments, 3 watched companies changed, ' +
  '4 outcome of a payment unknown, 5 output not written, 6 not sold, certain later, 7 receipt valid and its transfer not checked.'

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
  const print = (line: string) => context.print(escapeInvisible(line))
  const note = (line: string) => void context.stderr.write(`${escapeInvisible(line)}\n`)
  const program = createProgram(definition, { ...context, print, note, finish: (value) => (result = value) })
  program.version(await readVersion(), '--version', 'print the version')
  try {
    await program.parseAsync(args, { from: 'user' })
    const failed = await context.flush().then(
      () => undefined,
      (fault: unknown) => errorCode(fault) ?? 'unknown',
    )
    const status = typeof result === 'number' ? result : result ? EXIT_DONE : EXIT_FAILED
    if (failed === undefined || status !== EXIT_DONE) return status
    note(`The output could not be written (${failed}).`)
    return EXIT_OUTPUT
  } catch (cause) {
    // Commander throws for usage errors, and for --help with exit status 0.
    if (cause instanceof CommanderError) return cause.exitCode === 0 ? EXIT_DONE : EXIT_USAGE
    context.stderr.write(`${escapeInvisible(firstLine(cause, definition))}\n`)
    return EXIT_FAILED
  }
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
    .addHelpText('afterAll', EXIT_HELP)
  for (const addCommand of commands) addCommand(program, context)
  return program
}

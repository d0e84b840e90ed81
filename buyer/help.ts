/** The help of the commands that buy: a screen for all, and for each command what it takes. */
import { Help, type Command } from 'commander'
import { setStatuses, wrap } from '../agent/command-line/exit-statuses.ts'
import { SINGLE_OPERATIONS } from '../agent/operation/operations.ts'
import type { Mode } from '../agent/payment/terms.ts'
import { showUsdc } from './amounts.ts'
import type { Client } from './target.ts'

/** The exit statuses of a purchase (contract 14.5). */
export const SOLD = {
  0: 'sold',
  1: 'certainly not sold',
  4: 'not known whether the payment was charged, run the same command again',
  5: 'sold and not printed, the same command prints it',
  6: 'refused, which is certain later',
}

/** The commands that most need first, with the arguments and the text of the screen. */
const FIRST = [
  ['lookup <number>', 'the record of a company number'],
  ['search <q>', 'companies with a similar name'],
  ['resolve [name]', 'the company that a name means'],
  ['reconcile <file>', 'the company of each row of a spreadsheet'],
  ['purchases', 'what was bought, with outcomes and files'],
] as const

/** The options of the parent that a command uses, by their attributes. Without an entry, all. */
const usedOptions = new WeakMap<Command, readonly string[]>()

export const setUsedOptions = (command: Command, attributes: readonly string[]): void =>
  void usedOptions.set(command, attributes)

/** An option of the parent that takes no command. */
const NO_COMMAND = 'retry'

const commander = Object.assign(new Help(), { showGlobalOptions: true })

/** Subcommands inherit it, so they are added after it. */
export function configureClientHelp(parent: Command, client: Client): void {
  const { environment } = client.context
  const modeOf = (): Mode => {
    const { mode = environment['MODE'] === 'mainnet' ? 'mainnet' : 'testnet' } = parent.opts<{ mode?: Mode }>()
    return mode
  }
  const priceOf = (operation: string) => {
    const found = SINGLE_OPERATIONS.find(({ name }) => name === operation)
    return found && `${showUsdc(found.prices[modeOf()])} USDC on ${modeOf()}`
  }
  const describe = (command: Command) =>
    command.description().replace(/\{(\w+)\}/, (_, operation: string) => priceOf(operation) ?? '')
  parent.configureHelp({
    ...parent.configureHelp(),
    commandDescription: describe,
    subcommandDescription: describe,
    visibleGlobalOptions: (command) =>
      commander.visibleGlobalOptions(command).filter((option) => {
        const attribute = option.attributeName()
        return attribute !== NO_COMMAND && (usedOptions.get(command)?.includes(attribute) ?? true)
      }),
    formatHelp: (command, helper) =>
      command === parent
        ? toScreen(parent, { priceOf, hasService: client.findService !== undefined })
        : Help.prototype.formatHelp.call(helper, command, helper),
  })
  setStatuses(parent, {
    0: 'sold',
    1: 'not sold',
    2: 'arguments',
    4: 'unknown',
    5: 'not printed',
    6: 'later',
  })
}

function toScreen(
  parent: Command,
  { priceOf, hasService }: { priceOf: (operation: string) => string | undefined; hasService: boolean },
): string {
  const names: string[] = []
  for (let each: Command | null = parent; each; each = each.parent) names.unshift(each.name())
  const program = names.join(' ')
  const first = FIRST.map(([usage, text]) => {
    const price = priceOf(usage.split(' ', 1).join())
    return `  ${usage.padEnd(18)}${text}${price === undefined ? '' : `; ${price}`}`
  })
  const others = parent.commands
    .map((each) => each.name())
    .filter((name) => !FIRST.some(([usage]) => usage.split(' ', 1).join() === name))
  return `Usage: ${program} [options] <command>

Commands:
${first.join('\n')}
${wrap(`More: ${others.join(', ')}. Each has --help.`)}

Options of all commands:
  --url <url>           the service; ${hasService ? 'by default the configured one' : 'required'}
  --key-file <file>     the key that pays; ${hasService ? 'by default that of the sandbox' : 'required'}
  --mode <mode>         testnet (default) or mainnet
  --max-amount <usdc>   pay at most this for an answer, such as 0.05
  --max-per-day <usdc>  pay at most this in a UTC day
  --json, --quiet       one JSON document; only refusals on stderr
  --retry <file>        send the payment in this file again; takes no command

Examples:
  ${program} lookup 00000000${hasService ? '' : ' --url URL --key-file FILE'}
`
}

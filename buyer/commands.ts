/**
 * The commands that buy. In `irish-company-agent` they are below `client`, and have the configured service as default.
 * The buyer's own program has no default.
 */
import { readFile } from 'node:fs/promises'
import { Option, type Command } from 'commander'
import { parseJson } from '../base/read-body.ts'
import { parseHttpUrl } from '../agent/command-line/arguments.ts'
import { parseAmount } from './arguments.ts'
import { setStatuses } from '../agent/command-line/exit-statuses.ts'
import type { AddCommand, FindService } from '../agent/command-line/context.ts'
import { toJsonSchema } from '../agent/operation/json-schema.ts'
import {
  inputRefusal,
  parseOperation,
  type Operation,
  type OperationDefinition,
  type SingleDefinition,
} from '../agent/operation/operation.ts'
import { batch, SINGLE_OPERATIONS } from '../agent/operation/operations.ts'
import { textInput } from '../agent/operation/resource.ts'
import { configureClientHelp, setUsedOptions, SOLD } from './help.ts'
import { addLists } from './lists/commands.ts'
import { addLocalServers } from './local-servers.ts'
import { tellSlow } from './slow-service.ts'
import { describeOtherUrl, modeOption, parseBaseUrl, readTarget, refuse, type Client } from './target.ts'
import { describeReading, readTypedInput } from './typed-input.ts'

const DESCRIPTION = 'Buy from a running service'

/** Adds the options of the parent. They may stand before or after the name of a command. */
const addClientOptions = (parent: Command) =>
  parent
    .option(
      '--url <url>',
      'the URL of the service; in irish-company-agent by default that of its configuration',
      parseBaseUrl,
    )
    .option('--key-file <file>', 'the private key of the buyer; in irish-company-agent by default that of the sandbox')
    .addOption(modeOption())
    .option('--max-amount <usdc>', 'pay at most this for an answer; by default the usual price', parseAmount)
    .option(
      '--max-per-day <usdc>',
      'pay at most this in a UTC day, in all calls with this option and the same folder',
      parseAmount,
    )
    .option('--json', 'print one JSON document, also on a terminal and for a refusal')
    .option('--quiet', 'write only refusals to stderr')
    .option('--verbose', 'show the checks of the quote, and the body of a refusal')
    .option('--rpc <url>', 'a node of the chain, which shows whether a refused payment was charged', parseHttpUrl)
    .option('--a2a', 'buy over A2A instead of REST')
    .addOption(
      new Option('--a2a-url <url>', 'send A2A messages here; by default to the URL of the card on the same host')
        .argParser(parseHttpUrl)
        .implies({ a2a: true }),
    )
    .option(
      '--new-payment',
      'sign another payment in place of one that was refused for its funds, with the key of another address',
    )
    .addOption(
      new Option('--retry <file>', 'repeat the purchase in this file; takes no command').conflicts(
        ['url', 'keyFile', 'mode', 'maxAmount', 'maxPerDay', 'newPayment', 'a2a', 'a2aUrl'], // those of the purchase in the file
      ),
    )

/** Characters of a wrong value in a message. */
const VALUE_SHOWN_MAX = 80

/** The members that are positional arguments. By default the required ones. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { resolve: ['name'], changes: [] }

/** `company_numbers` is the option `--numbers`. */
const toFlag = (member: string) => member.replace(/^company_/, '').replaceAll('_', '-')

/** Derives the command of an operation from its definition. */
function addPurchase(parent: Command, client: Client, definition: SingleDefinition): void {
  const { name, inputSchema, tool } = definition
  const { properties, required: needed = [] } = toJsonSchema(inputSchema, 'input') as {
    properties: Record<string, { description?: string; enum?: string[] }>
    required?: string[]
  }
  const members = ARGUMENTS[name] ?? needed
  const describe = (member: string) => (properties[member]?.description ?? '').replace(/\.$/, '')
  const command = parent.command(toFlag(name)).description(`${tool.title}; {${name}}`)
  setStatuses(command, SOLD)
  for (const member of members)
    command.argument(needed.includes(member) ? `<${toFlag(member)}>` : `[${toFlag(member)}]`, describe(member))
  const options = Object.keys(properties)
    .filter((member) => !members.includes(member))
    .map((member) => {
      const option = new Option(`--${toFlag(member)} <value>`, describe(member))
      const { enum: choices } = properties[member] ?? {}
      if (choices) option.choices(choices)
      command.addOption(option.makeOptionMandatory(needed.includes(member)))
      return [member, option.attributeName()] as const
    })
  command.action(async () => {
    const { purchase } = await import('./library/commands.ts')
    const values = command.opts<Record<string, string | undefined>>()
    const typed = [
      ...members.map((member, at) => [member, command.args[at]] as const),
      ...options.map(([member, attribute]) => [member, values[attribute]] as const),
    ]
    const given = typed.flatMap(([member, text]): [string, string][] => (text === undefined ? [] : [[member, text]]))
    const target = await readTarget(command, client, 'url', 'keyFile')
    const written = Object.fromEntries(given)
    const operation = readOperation(command, definition, textInput(given), written)
    const reading = describeReading(written['company_number'] ?? '', operation.input['company_number'])
    if (reading !== undefined) client.context.note(reading)
    client.context.finish(await purchase(client.context, { ...target, operation }))
  })
}

/**
 * Ends the command if the input breaks a rule. The line has the value.
 * @param typed the values as they were typed
 */
function readOperation(
  command: Command,
  definition: OperationDefinition,
  input: Record<string, unknown>,
  typed = input,
): Operation {
  const parsed = parseOperation(definition, readTypedInput(input))
  if (parsed.kind === 'valid') return parsed.operation
  const { field, rule } = parsed.fault
  if (field === null) return refuse(command, rule)
  const value = typed[field]
  const isShown = typeof value === 'string' || typeof value === 'number'
  const shown = isShown ? ` ${JSON.stringify(value).slice(0, VALUE_SHOWN_MAX)}` : ''
  const advice = inputRefusal(definition, parsed.fault).next === 'search' ? '; the command search finds names' : ''
  return refuse(command, `${field}${shown} ${rule}${advice}`)
}

function addOthers(parent: Command, client: Client): void {
  const { context } = client
  const batchCommand = parent
    .command('batch')
    .description('Buy many answers of one operation with one payment')
    .argument('<file>', 'JSON such as {"operation":"lookup","inputs":[{"company_number":"00000000"}]}')
    .option('--dry-run', 'only say the price')
    .action(async (file: string, { dryRun: isDryRun = false }: { dryRun?: boolean }, command: Command) => {
      const { purchase } = await import('./library/commands.ts')
      const value = parseJson(await readFile(file, 'utf8'))
      if (typeof value !== 'object' || value === null) return refuse(command, `${file} has no JSON object`)
      const target = await readTarget(command, client, 'url', 'keyFile')
      const operation = readOperation(command, batch, { ...value })
      context.finish(await purchase(context, { ...target, operation, isDryRun }))
    })
  setStatuses(batchCommand, SOLD)
  const purchasesCommand = parent
    .command('purchases')
    .description('List what was bought, with outcomes and files')
    .argument('[folder]', 'by default that of single purchases; for a list its output')
    .action(async (folder: string | undefined, _, command: Command) => {
      const { printPurchases } = await import('./library/commands.ts')
      await printPurchases(context, folder ?? (await readTarget(command, client)).purchasesDirectory)
    })
  const addressCommand = parent
    .command('address')
    .description('Print the address that pays: that of --key-file')
    .option('--new', 'create the key file first; it must not exist')
    .action(async ({ new: isNew = false }: { new?: boolean }, command: Command) => {
      const { printAddress } = await import('./library/commands.ts')
      await printAddress(context, (await readTarget(command, client, 'keyFile')).keyFile, { isNew })
    })
  const cardCommand = parent
    .command('verify-card')
    .description('Check the signature of the agent card')
    .action(async (_, command: Command) => {
      const { verifyCard } = await import('./library/verify-card.ts')
      const check = await verifyCard((await readTarget(command, client, 'url')).baseUrl, context.fetch)
      const kid = check.kind === 'signed' ? check.kid : undefined
      if (context.isJson) context.printJson({ valid: kid !== undefined, kid: kid ?? null })
      else
        context.print(
          kid === undefined ? 'The agent card has no valid signature.' : `The agent card is signed by ${kid}`,
        )
      const advice = check.kind === 'other_service' ? describeOtherUrl(check.origin) : undefined
      if (advice !== undefined) context.note(advice)
      context.finish(kid !== undefined)
    })
  setUsedOptions(purchasesCommand, ['json', 'quiet'])
  setUsedOptions(addressCommand, ['keyFile', 'json', 'quiet'])
  setUsedOptions(cardCommand, ['url', 'json'])
}

/** Adds the commands of single purchases and of lists to a program, or to a command of it. */
function addClient(parent: Command, client: Client): void {
  const { context } = client
  configureClientHelp(parent, client)
  addClientOptions(parent)
  for (const each of SINGLE_OPERATIONS) addPurchase(parent, client, each)
  addOthers(parent, client)
  addLists(parent, client)
  // After the subcommands, which would inherit it.
  parent
    .allowExcessArguments()
    .hook('preSubcommand', (command) => {
      if (command.opts()['retry'] !== undefined) command.error("error: option '--retry' takes no command")
    })
    .action(async (options: { retry?: string; rpc?: string; json?: boolean; verbose?: boolean }, command: Command) => {
      // Commander names the nearest command only if there is no action.
      if (command.args.length > 0) (command as Command & { unknownCommand: () => never }).unknownCommand()
      if (options.retry === undefined) return command.help({ error: true })
      const { retryPurchase } = await import('./library/commands.ts')
      context.finish(await retryPurchase(context, options.retry, options))
    })
}

/**
 * With `findService`, the purchase commands are below `client`, else at the top. The local servers are always at the
 * top.
 */
export const buyerCommands = (findService?: FindService): AddCommand[] => [
  (program, context) =>
    addClient(findService ? program.command('client').description(DESCRIPTION) : program, {
      context: { ...context, fetch: tellSlow(context) },
      findService,
    }),
  (program, context) => addLocalServers(program, { context }),
]

/**
 * The commands that buy. In `irish-company-agent` they are below `client`, and have the configured service as default.
 * The buyer's own program has no default.
 */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { parseJson } from '../../store/base/read-body.ts'
import { parseAmount, parseHttpUrl } from '../command-line/arguments.ts'
import type { AddCommand, CommandContext, FindService } from '../command-line/context.ts'
import { toJsonSchema } from '../operation/json-schema.ts'
import type { SingleDefinition } from '../operation/operation.ts'
import { batch, SINGLE_OPERATIONS } from '../operation/operations.ts'
import { textInput } from '../operation/resource.ts'
import { toUsdc, type Mode } from '../payment/terms.ts'
import { addDefinition, modeOption, option, type Definition } from './definition.ts'
import { toBaseUrl } from './library/purchase-request.ts'
import { LISTS } from './lists/commands.ts'
import { LOCAL_SERVERS } from './local-servers.ts'
import { readTypedInput } from './typed-input.ts'

const DESCRIPTION = 'Buy from a running service'

const HELP = `
A purchase asks for a quote, checks it, signs one payment, saves it in the folder of the purchases (DATA_DIR/purchases,
in irish-company-agent-client ./purchases), sends it, and prints the answer on stdout: readable on a terminal, else as JSON.
The exit status is 4 if it is not known whether the payment was charged, for example if no answer arrives: run the same
command again, or --retry. The same payment is sent again and is charged at most once. It is 6 if the service refused the
payment, which is certain later. "purchases" lists the payments and their states.

--mode sets network and token, --max-amount the highest price. The receiver is the one that the service publishes.

Examples:
  PROGRAM lookup 00000000
  PROGRAM lookup 249885 --mode mainnet --url https://companies.example --key-file buyer.key
  PROGRAM resolve "Alpha Sample Trading Ltd" --eircode "T07 X2H5"
  PROGRAM reconcile suppliers.csv --column Supplier
  PROGRAM address --key-file buyer.key --new
  PROGRAM --retry FILE.json`

/** Options of the parent. They may stand before or after the name of a command. */
const CLIENT_OPTIONS = () => [
  option(
    '--url <url>',
    'the URL of the service; in irish-company-agent by default that of its configuration',
    toBaseUrl,
  ),
  option('--key-file <file>', 'the private key of the buyer; in irish-company-agent by default that of the sandbox'),
  modeOption(),
  option('--max-amount <n>', 'pay at most this, in micro-USDC; by default the usual price', parseAmount),
  option('--json', 'print the body of the answer also on a terminal'),
  option('--verbose', 'show the checks of the quote, and the body of a refusal'),
  option('--rpc <url>', 'a node of the chain, which shows whether a refused payment was charged', parseHttpUrl),
  option('--a2a', 'buy over A2A instead of REST'),
  option(
    '--a2a-url <url>',
    'send A2A messages here; by default to the URL of the card on the same host',
    parseHttpUrl,
  ).implies({ a2a: true }),
  option('--retry <file>', 'repeat the purchase in this file; takes no command').conflicts(
    ['url', 'keyFile', 'mode', 'maxAmount', 'a2a', 'a2aUrl'], // those of the purchase in the file
  ),
]

/** The members that are positional arguments. By default the required ones. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { resolve: ['name'], changes: [] }

/** `company_numbers` is the option `--numbers`. */
const toFlag = (member: string) => member.replace(/^company_/, '').replaceAll('_', '-')

/** Derives the command of an operation from its definition. */
function purchaseOf(definition: SingleDefinition): Definition {
  const { name, inputSchema, tool } = definition
  const { properties, required: needed = [] } = toJsonSchema(inputSchema, 'input') as {
    properties: Record<string, { description?: string }>
    required?: string[]
  }
  const members = ARGUMENTS[name] ?? needed
  const describe = (member: string) => (properties[member]?.description ?? '').replace(/\.$/, '')
  const toArgument = (member: string): [string, [string, string]] => {
    const syntax = needed.includes(member) ? `<${toFlag(member)}>` : `[${toFlag(member)}]`
    return [member, [syntax, describe(member)]]
  }
  const others = Object.keys(properties).filter((member) => !members.includes(member))
  const options = others.map((member) =>
    option(`--${toFlag(member)} <value>`, describe(member)).makeOptionMandatory(needed.includes(member)),
  )
  return {
    name: toFlag(name),
    description: `${tool.title}; {${name}}`,
    arguments: Object.fromEntries(members.map(toArgument)),
    options,
    run: async ({ context, args, options: values, target }) => {
      const { purchase } = await import('./library/commands.ts')
      const given = others.flatMap((member, index): [string, string][] => {
        const value = values[options[index]?.attributeName() ?? '']
        return value === undefined ? [] : [[member, String(value)]]
      })
      const input = readTypedInput(textInput([...Object.entries(args), ...given]))
      return purchase(context, { ...(await target('url', 'keyFile')), definition, input })
    },
  }
}

const OTHERS: readonly Definition[] = [
  {
    name: 'batch',
    description: 'Buy many answers of one operation with one payment',
    arguments: { file: ['<file>', 'JSON such as {"operation":"lookup","inputs":[{"company_number":"00000000"}]}'] },
    options: [option('--dry-run', 'only say the price')],
    run: async ({ context, args: { file = '' }, options, target, refuse }) => {
      const { purchase } = await import('./library/commands.ts')
      const value = parseJson(await readFile(file, 'utf8'))
      if (typeof value !== 'object' || value === null) return refuse(`${file} has no JSON object`)
      const input = readTypedInput({ ...value })
      const isDryRun = options['dryRun'] === true
      return purchase(context, { ...(await target('url', 'keyFile')), definition: batch, input, isDryRun })
    },
  },
  {
    name: 'purchases',
    description: 'List the purchases of a folder: time, operation, amount, state, file',
    arguments: { folder: ['[folder]', 'by default that of single purchases; for a list OUT.purchases'] },
    run: async ({ context, args: { folder }, target }) => {
      const { printPurchases } = await import('./library/commands.ts')
      await printPurchases(context, folder ?? (await target()).purchasesDirectory)
    },
  },
  {
    name: 'address',
    description: 'Print the address that pays: that of --key-file',
    options: [option('--new', 'create the key file first; it must not exist')],
    run: async ({ context, options, target }) => {
      const { printAddress } = await import('./library/commands.ts')
      await printAddress(context, (await target('keyFile')).keyFile, { isNew: options['new'] === true })
    },
  },
  {
    name: 'verify-card',
    description: 'Check the signature of the agent card',
    run: async ({ context: { print, fetch }, target }) => {
      const { verifyCard } = await import('./library/verify-card.ts')
      const kid = await verifyCard((await target('url')).baseUrl, fetch)
      print(kid === undefined ? 'The agent card has no valid signature.' : `The agent card is signed by ${kid}`)
      return kid !== undefined
    },
  },
]

/** The description with the price on the network in use. */
const priced =
  (parent: Command, { environment }: CommandContext) =>
  (command: Command) =>
    command.description().replace(/\{(\w+)\}/, (_, operation) => {
      const { mode = environment['MODE'] === 'mainnet' ? 'mainnet' : 'testnet' } = parent.opts<{ mode?: Mode }>()
      const found = SINGLE_OPERATIONS.find(({ name }) => name === operation)
      return `${toUsdc(found?.prices[mode] ?? 0)} USDC on ${mode}`
    })

/** Adds the commands of single purchases and of lists to a program, or to a command of it. */
function addClient(parent: Command, context: CommandContext, findService?: FindService): void {
  const names: string[] = []
  for (let each: Command | null = parent; each; each = each.parent) names.unshift(each.name())
  const describe = priced(parent, context)
  // Subcommands inherit it.
  parent.configureHelp({ ...parent.configureHelp(), commandDescription: describe, subcommandDescription: describe })
  parent.addHelpText('after', HELP.replaceAll('PROGRAM', names.join(' ')))
  for (const each of CLIENT_OPTIONS()) parent.addOption(each)
  for (const each of [...SINGLE_OPERATIONS.map(purchaseOf), ...OTHERS, ...LISTS])
    addDefinition(parent, context, each, findService)
  // After the subcommands, which would inherit it.
  parent
    .allowExcessArguments()
    .hook('preSubcommand', (command) => {
      if (command.opts()['retry'] !== undefined) command.error("error: option '--retry' takes no command")
    })
    .action(async (options: { retry?: string; json?: boolean; verbose?: boolean }, command: Command) => {
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
    addClient(findService ? program.command('client').description(DESCRIPTION) : program, context, findService),
  (program, context) => LOCAL_SERVERS.forEach((each) => addDefinition(program, context, each)),
]

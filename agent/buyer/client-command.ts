/** The command `client`: buys from a service, and shows and repeats purchases. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Option, type Command } from 'commander'
import type { Mode } from '../payment/terms.ts'
import { BUYER_KEY_FILE, purchasesFolder, sandboxFolder } from '../../store/files/layout.ts'
import { parseAmount, parseHttpUrl, parseSeparator } from '../command-line/arguments.ts'
import type { AddCommand, CommandContext, FindService } from '../command-line/context.ts'
import { addWatchCommand } from './watch-command.ts'

const HELP = `
A purchase asks for a quote, checks it, signs one payment, saves it in DATA_DIR/purchases, sends it, and prints the
answer on stdout: readable on a terminal, else as JSON. The exit status is 4 if it is not known whether the payment was
charged, for example if no answer arrives: repeat the purchase with --retry. The same payment is sent again and is charged
at most once. "purchases" lists the payments and their states.

Network, token and price limit come from --mode and --max-amount, whatever the service says. The receiver is the one
that the service publishes.

Examples:
  irish-company-agent client lookup 00000000
  irish-company-agent client lookup 249885 --mode mainnet --url https://companies.example --key-file buyer.key
  irish-company-agent client search "alpha sample trading" --limit 3
  irish-company-agent client resolve "Alpha Sample Trading Ltd" --eircode "T07 X2H5"
  irish-company-agent client history 00000000
  irish-company-agent client changes --since 2026-01-31 --field legal_name
  irish-company-agent client reconcile suppliers.csv --column Supplier
  irish-company-agent client purchases
  irish-company-agent client address --key-file buyer.key --new
  irish-company-agent client watch suppliers.csv --column Number --state watch.json --max-total 2000000
  irish-company-agent client --retry data/purchases/FILE.json
  irish-company-agent client verify-card`

type ClientOptions = {
  url?: string
  keyFile?: string
  mode?: Mode
  maxAmount?: number
  a2a?: boolean
  a2aUrl?: string
  retry?: string
  rpc?: string
  json?: boolean
  verbose?: boolean
}
/** A context that also finds the service that is meant when the user names none. */
interface ClientContext extends CommandContext {
  findService: () => ReturnType<FindService>
}

export const clientCommand =
  (findService: FindService): AddCommand =>
  (program, commandContext) => {
    const context = { ...commandContext, findService: () => findService(commandContext) }
    const client = program
      .command('client')
      .description('Buy from a running service')
      .option('--url <url>', 'the URL of the service; by default the one of the configuration', parseHttpUrl)
      .option('--key-file <file>', "the private key of the buyer; by default that of the sandbox's buyer")
      .addOption(new Option('--mode <mode>', 'the network to pay on; by default MODE').choices(['testnet', 'mainnet']))
      .option('--max-amount <n>', 'pay at most this, in micro-USDC; by default the usual price', parseAmount)
      .option('--json', 'print the body of the answer also on a terminal')
      .option('--verbose', 'show the checks of the quote, and the body of a refusal')
      .option('--rpc <url>', 'a node of the chain, which shows whether a refused payment was charged', parseHttpUrl)
      .option('--a2a', 'buy over A2A instead of REST')
      .addOption(
        new Option('--a2a-url <url>', 'send A2A messages here; by default to the URL of the card on the same host')
          .argParser(parseHttpUrl)
          .implies({ a2a: true }),
      )
      .addOption(
        new Option('--retry <file>', 'repeat the purchase in this file; takes no command').conflicts([
          'url',
          'keyFile',
          'mode',
          'maxAmount',
          'a2a',
          'a2aUrl',
        ]),
      )
      .addHelpText('after', HELP)
      .hook('preSubcommand', (command) => {
        if (command.opts<ClientOptions>().retry !== undefined) command.error("error: option '--retry' takes no command")
      })
      .action(async ({ retry, json, verbose }: ClientOptions, command: Command) => {
        // Commander names the nearest command only if there is no action.
        if (command.args.length > 0) (command as Command & { unknownCommand: () => never }).unknownCommand()
        if (retry === undefined) return command.help({ error: true })
        const { retryPurchase } = await import('./library/commands.ts')
        context.finish(await retryPurchase(withClearFailures(context), retry, { json, verbose }))
      })
    for (const definition of PURCHASES) addPurchaseCommand(client, context, definition)
    addBatchCommand(client, context)
    addReconcileCommand(client, context)
    addKeyCommands(client, context)
    // After the subcommands, which would inherit it.
    client.allowExcessArguments()
    addWatchCommand(client, withClearFailures(context), (command) => readTarget(context, command))
    client
      .command('verify-card')
      .description('check the signature of the agent card')
      .action(async (_options: object, command: Command) => {
        const { verifyCardSignature } = await import('./library/commands.ts')
        context.finish(await verifyCardSignature(withClearFailures(context), await targetUrl(context, command)))
      })
  }

function addKeyCommands(client: Command, context: ClientContext): void {
  client
    .command('purchases')
    .description('list the purchases of a folder: time, operation, amount, state, file')
    .argument('[folder]', 'by default DATA_DIR/purchases; for a list OUT.purchases')
    .action(async (folder: string | undefined) => {
      const { listPurchases } = await import('./library/commands.ts')
      await listPurchases(context, folder ?? purchasesFolder((await context.findService()).dataDirectory))
    })
  client
    .command('address')
    .description('print the address that pays: that of --key-file')
    .option('--new', 'create the key file first; it must not exist')
    .action(async (options: { new?: boolean }, command: Command) => {
      const { createPrivateKey, readPrivateKey } = await import('./library/private-key.ts')
      const { signerOf } = await import('./library/open-signer.ts')
      const { keyFile } = await readTarget(context, command)
      if (options.new === true) await createPrivateKey(keyFile)
      context.print((await signerOf(await readPrivateKey(keyFile))).address)
      context.note('Send USDC to this address. Test USDC of Base Sepolia: https://faucet.circle.com')
    })
}

const RECONCILE_HELP = `
Writes the CSV again with the company of each row: company_number, legal_name, status, decision, score, alternative_1 to
alternative_3, snapshot_id and receipt. Only the decision "matched" names a company. Equal rows are bought once. Each purchase
is a file in OUT.purchases, which "verify" checks. With --batch one payment buys up to 25 rows; numbers that are missing or
quarantined are charged then.

After Ctrl-C, a failure or a crash the same command continues, and pays nothing twice. To buy the list again, remove
OUT.purchases or name another --out.

Example:
  irish-company-agent client reconcile suppliers.csv --column Supplier --eircode-column Postcode --max-total 50000000`

type ReconcileOptions = {
  column: string
  numberColumn?: string
  eircodeColumn?: string
  addressColumn?: string
  header: boolean
  separator?: string
  out?: string
  maxTotal?: number
  batch?: boolean
  yes?: boolean
}

function addReconcileCommand(client: Command, context: ClientContext): void {
  client
    .command('reconcile')
    .description('buy a decision for each row of a CSV file')
    .argument('<file>', 'a CSV file in UTF-8 or Windows-1252')
    .requiredOption('--column <column>', 'the column of the names: its header, or its number from 1')
    .option('--number-column <column>', 'the column of the company numbers')
    .option('--eircode-column <column>', 'the column of the Eircodes, as evidence')
    .option('--address-column <column>', 'the column of a part of the address, as evidence')
    .option('--no-header', 'the first row is data; name columns by their numbers')
    .option(
      '--separator <text>',
      'the separator of the fields, "tab" for a tabulator; by default it is found',
      parseSeparator,
    )
    .option('--out <file>', 'the CSV to write; by default FILE.reconciled.csv')
    .option('--max-total <n>', 'pay at most this for the list, earlier runs included; required on mainnet', parseAmount)
    .option('--batch', 'buy up to 25 rows with one payment')
    .option('--yes', 'pay without a question')
    .addHelpText('after', RECONCILE_HELP)
    .action((file: string, options: ReconcileOptions, command: Command) => reconcile(context, command, file, options))
}

/** How much the heap may grow between two collections. */
const HEAP_GROWING_PERCENT = 50

async function reconcile(
  context: ClientContext,
  command: Command,
  file: string,
  options: ReconcileOptions,
): Promise<void> {
  const { maxTotal } = options
  const { a2a, baseUrl, mode, keyFile, amountMax, readAuthorization } = await readTarget(context, command)
  if (a2a) command.error("error: option '--a2a' cannot be used with reconcile")
  if (mode === 'mainnet' && maxTotal === undefined) command.error("error: option '--max-total' is required on mainnet")
  // Without it Node.js keeps twice the memory of a long list.
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`)
  const { reconcileFile } = await import('./lists/reconcile-file.ts')
  const { readPrivateKey } = await import('./library/private-key.ts')
  const { resolve } = await import('../operation/resolve.ts')
  const { openBar } = await import('../command-line/progress-bar.ts')
  const { column: name, numberColumn: company_number, eircodeColumn: eircode, addressColumn: address } = options
  const list = {
    file,
    out: options.out ?? `${file.replace(/\.csv$/i, '')}.reconciled.csv`,
    columns: definedMembers({ name, company_number, eircode, address }),
    hasHeader: options.header,
    separator: options.separator,
    baseUrl,
    mode,
    key: await readPrivateKey(keyFile),
    amountMax: amountMax ?? resolve.prices[mode],
    totalMax: maxTotal,
    isConfirmed: options.yes === true,
    isBatched: options.batch === true,
    readAuthorization,
  }
  try {
    const isKnown = await reconcileFile({ ...withClearFailures(context), openBar: () => openBar(context) }, list)
    context.finish(isKnown || 'outcome unknown')
  } catch (cause) {
    const { finishFailed } = await import('./finish-failed.ts')
    finishFailed(context, cause)
  }
}

/** A command that buys one answer. Arguments and options stand by the member of the input that they set. */
interface PurchaseDefinition {
  operation: string
  description: string
  arguments: Record<string, [syntax: string, description: string]>
  options?: Record<string, Option>
}

const PURCHASES: PurchaseDefinition[] = [
  {
    operation: 'lookup',
    description: 'buy one company record',
    arguments: {
      company_number: [
        '<number>',
        'the company number; 00000000 is a made-up company that is always on sale on testnet',
      ],
    },
  },
  {
    operation: 'search',
    description: 'buy a ranked list of companies with similar names',
    arguments: { q: ['<name>', 'the name to search, 3 to 160 characters'] },
    options: {
      limit: new Option('--limit <n>', 'the number of companies, 1 to 10'),
      status: new Option('--status <text>', 'return companies with this status only'),
      eircode: new Option('--eircode <code>', 'an Eircode that raises the rank of companies with it'),
    },
  },
  {
    operation: 'resolve',
    description: 'buy a decision on which company a name or a number identifies',
    arguments: { name: ['[name]', 'the name of the company; a name, a number or both are required'] },
    options: {
      company_number: new Option('--number <n>', 'the company number'),
      eircode: new Option('--eircode <code>', 'the Eircode of the company'),
      address: new Option('--address <text>', 'a part of the address'),
    },
  },
  {
    operation: 'history',
    description: 'buy the recorded versions of one company',
    arguments: { company_number: ['<number>', 'the company number'] },
    options: { before: new Option('--before <text>', 'the versions before those of an answer: its next_before') },
  },
  {
    operation: 'as_of',
    description: 'buy one company record as the register had it on a day',
    arguments: { company_number: ['<number>', 'the company number'], date: ['<date>', 'the day, YYYY-MM-DD'] },
  },
  {
    operation: 'changes',
    description: 'buy a list of the companies that were added, removed or changed',
    arguments: {},
    options: {
      since: new Option('--since <date>', 'the first day, YYYY-MM-DD; required').makeOptionMandatory(),
      until: new Option('--until <date>', 'the last day; by default the newest'),
      kind: new Option('--kind <kind>', 'added, removed or changed'),
      field: new Option('--field <name>', 'list changes of this field only, such as legal_name'),
      status: new Option('--status <text>', 'list companies with this status only'),
      limit: new Option('--limit <n>', 'the number of changes, 1 to 100'),
      cursor: new Option('--cursor <text>', 'the changes after those of an answer: its next_cursor'),
      company_numbers: new Option(
        '--numbers <list>',
        'only of these companies: up to 100 numbers, separated by commas',
      ),
    },
  },
]

function addPurchaseCommand(client: Command, context: ClientContext, definition: PurchaseDefinition): void {
  const { operation, description, options = {} } = definition
  const command = client.command(operation.replace('_', '-')).description(description)
  for (const [syntax, text] of Object.values(definition.arguments)) command.argument(syntax, text)
  for (const option of Object.values(options)) command.addOption(option)
  command.action(async () => {
    const { textInput } = await import('../operation/resource.ts')
    const values = command.opts<Record<string, string>>()
    const input: Record<string, string | undefined> = {}
    for (const [index, member] of Object.keys(definition.arguments).entries()) input[member] = command.args[index]
    for (const [member, option] of Object.entries(options)) input[member] = values[option.attributeName()]
    await buy(context, command, operation, textInput(Object.entries(definedMembers(input))))
  })
}

function addBatchCommand(client: Command, context: ClientContext): void {
  client
    .command('batch')
    .description('buy many answers of one operation with one payment')
    .argument('<file>', 'JSON such as {"operation":"lookup","inputs":[{"company_number":"00000000"}]}')
    .action(async (file: string, _options: object, command: Command) => {
      const { parseJson } = await import('../../store/base/read-body.ts')
      const input = parseJson(await readFile(file, 'utf8'))
      if (typeof input !== 'object' || input === null) command.error(`error: ${file} has no JSON object`)
      return buy(context, command, 'batch', { ...input })
    })
}

async function buy(
  context: ClientContext,
  command: Command,
  operation: string,
  values: Record<string, unknown>,
): Promise<void> {
  const { buyAnswer } = await import('./library/commands.ts')
  const target = await readTarget(context, command)
  const options = { ...target, operation, input: definedMembers(values) }
  context.finish(await buyAnswer(withClearFailures(context), options))
}

/** The service, key and limits of a purchase, from the options of `client` or else from the configuration. */
async function readTarget(context: ClientContext, command: Command) {
  const { dataDirectory, mode: configured } = await context.findService()
  const options = command.optsWithGlobals<ClientOptions>()
  const { keyFile, mode = configured, maxAmount, a2a = false, a2aUrl, rpc, json, verbose } = options
  const { openAuthorizationCheck } = await import('./library/authorization-state.ts')
  const { DEPLOYMENTS } = await import('../payment/terms.ts')
  const { asset } = DEPLOYMENTS[mode]
  return {
    json,
    verbose,
    readAuthorization: rpc === undefined ? undefined : openAuthorizationCheck(context.fetch, { url: rpc, asset }),
    baseUrl: await targetUrl(context, command),
    keyFile: keyFile ?? join(sandboxFolder(dataDirectory), BUYER_KEY_FILE),
    mode,
    amountMax: maxAmount,
    a2a,
    a2aUrl,
    purchasesDirectory: purchasesFolder(dataDirectory),
  }
}

const definedMembers = <T>(values: Record<string, T | undefined>) =>
  Object.fromEntries(Object.entries(values).filter((each): each is [string, T] => each[1] !== undefined))

async function targetUrl(context: ClientContext, command: Command): Promise<string> {
  const { url } = command.optsWithGlobals<ClientOptions>()
  return url ?? (await context.findService()).url
}

/** Adds the origin to network failures, which `fetch` reports as "fetch failed". */
function withClearFailures<T extends Pick<CommandContext, 'fetch'>>(context: T): T {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    try {
      return await context.fetch(input, init)
    } catch (cause) {
      const { origin } = new URL(input instanceof Request ? input.url : input)
      throw new Error(`Cannot reach ${origin}. Start the service there, or name another with --url`, { cause })
    }
  }
  return { ...context, fetch }
}

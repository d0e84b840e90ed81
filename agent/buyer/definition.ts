/** A command of the buyer as a row of a table, and how the command line gets it. */
import { join } from 'node:path'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { DEPLOYMENTS, type Mode } from '../payment/terms.ts'
import { openAuthorizationCheck } from './library/authorization-state.ts'
import type { CommandContext, CommandResult, FindService } from '../command-line/context.ts'

type Values = Record<string, string | number | boolean | undefined>

/** What a command runs with. */
export interface Call {
  context: CommandContext
  /** The arguments, by their names in the definition. */
  args: Record<string, string>
  /** The options that are given or have a default. */
  options: Values
  /** The service, the key and the limits. Ends the command if one of `needs` is missing. */
  target: (...needs: Need[]) => Promise<Target>
  /** Ends the command because of wrong arguments. */
  refuse: (fault: string) => never
}

export interface Definition {
  name: string
  description: string
  arguments?: Record<string, [syntax: string, description: string]>
  options?: readonly Option[]
  help?: string
  run: (call: Call) => Promise<CommandResult | void>
}

type Need = 'url' | 'keyFile'
export type Target = Awaited<ReturnType<typeof readTarget>>

/** @param parse throws an error with the rule that a value breaks */
export function option(flags: string, description: string, parse?: (text: string) => unknown): Option {
  const made = new Option(flags, description)
  if (!parse) return made
  return made.argParser((text) => {
    try {
      return parse(text)
    } catch (cause) {
      throw cause instanceof InvalidArgumentError ? cause : new InvalidArgumentError(`${(cause as Error).message}.`)
    }
  })
}

export const required = (made: Option): Option => made.makeOptionMandatory()
export const modeOption = () => option('--mode <mode>', 'the network to pay on').choices(['testnet', 'mainnet'])

export function addDefinition(
  parent: Command,
  context: CommandContext,
  { name, description, arguments: args = {}, options = [], help = '', run }: Definition,
  findService?: FindService,
): void {
  const command = parent.command(name).description(description).addHelpText('after', help)
  for (const [syntax, text] of Object.values(args)) command.argument(syntax, text)
  for (const each of options) command.addOption(each)
  command.action(async () => {
    const named = Object.keys(args).flatMap((key, index) => {
      const value = command.args[index]
      return value === undefined ? [] : [[key, value]]
    })
    const result = await run({
      context,
      args: Object.fromEntries(named) as Record<string, string>,
      options: command.opts(),
      target: (...needs) => readTarget(context, command, findService, needs),
      refuse: (fault) => command.error(`error: ${fault}`),
    })
    if (result !== undefined) context.finish(result)
  })
}

interface ClientOptions extends Partial<Record<'url' | 'keyFile' | 'a2aUrl' | 'rpc', string>> {
  /** Determines network, asset and domain, whatever the service says. */
  mode?: Mode
  maxAmount?: number
  a2a?: boolean
  json?: boolean
  verbose?: boolean
}

async function readTarget(
  context: CommandContext,
  command: Command,
  findService: FindService | undefined,
  needs: Need[],
) {
  const service = await findService?.(context)
  const options = command.optsWithGlobals<ClientOptions>()
  const { url = service?.url, mode = service?.mode ?? 'testnet', maxAmount: amountMax, rpc, ...others } = options
  const { keyFile = service && join(service.dataDirectory, 'sandbox', 'buyer.key') } = options
  for (const [need, value] of Object.entries({ url, keyFile }))
    if (value === undefined && needs.includes(need as Need))
      command.error(`error: option '--${need === 'url' ? 'url' : 'key-file'}' is required`)
  const node = rpc === undefined ? undefined : { url: rpc, asset: DEPLOYMENTS[mode].asset }
  return {
    ...others,
    mode,
    amountMax,
    baseUrl: url ?? '',
    keyFile: keyFile ?? '',
    readAuthorization: node && openAuthorizationCheck(context.fetch, node),
    purchasesDirectory: join(service?.dataDirectory ?? '.', 'purchases'),
  }
}

/** The command `mcp`: a local MCP server for desktop clients. It writes nothing but messages to stdout. */
import type { AddCommand } from './context.ts'
import { addLimitedBuyer } from './limited-buyer.ts'

const helpOf = (program: string) => `
The server speaks the Model Context Protocol over stdin and stdout. Its tools are those of POST /mcp of the service. It
buys each answer over REST, keeps it in the folder, and returns it for an equal call within a day. Each payment is saved
before it is sent, so a call that is repeated after a crash sends the same payment. The limits are in micro-USDC.

Example:
  ${program} mcp --url https://companies.example --key-file buyer.key --folder purchases`

export const addMcpCommand: AddCommand = (program, context) => {
  const command = program.command('mcp').description('Run a local MCP server that buys from a service')
  command.addHelpText('after', helpOf(program.name()))
  addLimitedBuyer(command, context, async (options) => {
    const { serveLocally } = await import('../mcp-stdio/server.ts')
    serveLocally(options)
  })
}

/** The commands that buy, and the actions of the buyer that commands of the operator use. */
import type { AddCommand } from '../command-line/context.ts'
import type { FindService } from '../command-line/context.ts'
import { clientCommand } from './client-command.ts'
import { addMcpCommand, addReconcileServiceCommand } from './local-servers.ts'

export const BUYER = {
  commands: (findService: FindService): AddCommand[] => [
    clientCommand(findService),
    addMcpCommand,
    addReconcileServiceCommand,
  ],
  loadActions: async () => {
    const [{ buyAnswer }, { verifyCard }, { verifyFile }] = await Promise.all([
      import('./library/commands.ts'),
      import('./library/verify-card.ts'),
      import('./library/verify-command.ts'),
    ])
    return { buyAnswer, verifyCard, verifyFile }
  },
}

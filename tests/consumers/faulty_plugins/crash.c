#include <oracle/subject/plugin.h>

static int run(const moe4_case* c, const moe4_output* output, char* message, size_t message_size) {
  (void)c, (void)message, (void)message_size;
  *(volatile int*)output->data = 1;
  return *(volatile int*)8;
}

const moe4_plugin* moe4_plugin_entry(void) {
  static const moe4_plugin plugin = {MOE4_PLUGIN_ABI, sizeof(moe4_plugin), run};
  return &plugin;
}

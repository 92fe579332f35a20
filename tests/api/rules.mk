# What the compiler says to programs that call dync wrongly.
.PHONY: compiler-messages
compiler-messages: dync.h
	@CC="$(CC)" CXX="$(CXX)" sh tests/api/compiler_messages.sh $(B)/compiler_messages
